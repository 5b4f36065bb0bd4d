import { type Adapter, type AdapterPayload, errors } from "oidc-provider";
import type { Clock } from "#platform/clock.ts";
import { endCommandLineGrant, findCommandLineGrant, type GrantDeps } from "./command-line-grants.ts";
import { COMMAND_LINE, type LoginTokens } from "./command-line.ts";
import { nameOfPerson, personOf } from "./names.ts";
import { decideRecord, dropRecord, findRecord, saveRecord, useRecord } from "./record-store.ts";

/** The functions of the adapter for the command line as the client. */

const MODEL = "DeviceCode";

type Deps = GrantDeps & { clock: Clock };

/** Device codes: the device finds one by its secret, a person by the short code that they type in. */
export const createDeviceCodes = (
  deps: Deps,
): Pick<Adapter, "upsert" | "find" | "findByUserCode" | "consume" | "destroy"> => {
  const { db, clock, sealer } = deps;
  const find = async (by: { id: string } | { uid: string }) => {
    const found = await findRecord(db, sealer, MODEL, by);
    if (found === undefined) return undefined;
    const used = found.consumedAt === null ? {} : { consumed: seconds(found.consumedAt) };
    return { ...(found.payload as AdapterPayload), ...used };
  };
  return {
    async upsert(id, payload) {
      const expiresAt = new Date((payload.exp ?? 0) * 1000);
      const person = personOf(payload.accountId);
      const record = { model: MODEL, id, payload, person, expiresAt, uid: payload.userCode };
      if (isNew(payload)) return saveRecord(db, sealer, record);
      // Two people may have typed in the same code: the first who agrees decides.
      if (!(await decideRecord(db, sealer, record))) throw new errors.InvalidGrant("decided already");
    },
    find: (id) => find({ id }),
    findByUserCode: (userCode) => find({ uid: userCode }),
    async consume(id) {
      if ((await useRecord(db, MODEL, id, clock())) === "used") return;
      const { grantId } = (await find({ id })) ?? {};
      if (grantId !== undefined) await endCommandLineGrant(deps, grantId);
      throw new errors.InvalidGrant("already used");
    },
    destroy: (id) => dropRecord(db, MODEL, id),
  };
};

const isNew = ({ inFlight, accountId, error }: AdapterPayload): boolean =>
  inFlight !== true && accountId === undefined && error === undefined;

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

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);
