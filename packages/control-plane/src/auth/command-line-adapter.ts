import { COMMAND_LINE, type LoginTokens } from "./command-line.ts";
import { endCommandLineGrant, findCommandLineGrant, type GrantDeps } from "./command-line-grants.ts";
import { nameOfPerson } from "./names.ts";
import { findRecord } from "./record-store.ts";

/** Adapter functions for the command line as the client. */

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);

export async function findGrantPayload(deps: GrantDeps, name: string) {
  const grant = await findCommandLineGrant(deps, name);
  return (
    grant && {
      kind: "Grant",
      jti: name,
      iat: seconds(new Date(grant.createdAt)),
      exp: seconds(new Date(grant.expiresAt)),
      accountId: nameOfPerson(grant.person),
      clientId: COMMAND_LINE,
      openid: { scope: grant.scopes.join(" ") },
    }
  );
}

export async function findTokenPayload({ loginTokens }: { loginTokens: LoginTokens }, token: string) {
  const found = await loginTokens.find(COMMAND_LINE, token);
  return (
    found && {
      kind: "AccessToken",
      jti: token,
      iat: seconds(found.createdAt),
      exp: seconds(found.expiresAt ?? found.createdAt),
      accountId: nameOfPerson(found.person),
      clientId: COMMAND_LINE,
      scope: found.scopes.join(" "),
    }
  );
}

/**
 * Only for the command line: a record of an app is looked up through its grant, and must not be found once that has
 * ended.
 */
export async function findCode({ db, sealer }: GrantDeps, model: string, id: string) {
  const found = await findRecord(db, sealer, model, { id });
  return found?.payload["clientId"] === COMMAND_LINE ? found : undefined;
}

/** For a code that was used twice. */
export async function endGrantOfCode(deps: GrantDeps, model: string, id: string): Promise<void> {
  const name = (await findCode(deps, model, id))?.payload["grantId"];
  if (typeof name === "string") await endCommandLineGrant(deps, name);
}
