import { randomBytes } from "node:crypto";
import { errors } from "oidc-provider";
import type { Db } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";
import { COMMAND_LINE, labelOf, type LoginTokens } from "./command-line.ts";
import type { Person } from "./interactions.ts";
import { findRecord, lockRecord, rewriteRecord, saveRecord, takeRecord } from "./record-store.ts";

export type GrantDeps = { db: Db; sealer: Sealer; loginTokens: LoginTokens };

/** What a person agreed to when they signed the command line in. It lasts until its token is fetched. */
export type CommandLineGrant = {
  person: Person;
  scopes: string[];
  machine: string;
  createdAt: string;
  expiresAt: string;
  /** Of the token that came of it. */
  tokenSha256?: string;
};

const MODEL = "CommandLineGrant";
const recordOf = (id: string, payload: CommandLineGrant) => ({
  ...{ model: MODEL, id, payload, person: payload.person },
  expiresAt: new Date(payload.expiresAt),
});

/** Returns its name. */
export async function openCommandLineGrant({ db, sealer }: GrantDeps, grant: CommandLineGrant): Promise<string> {
  const name = randomBytes(32).toString("hex");
  await saveRecord(db, sealer, recordOf(name, grant));
  return name;
}

export const findCommandLineGrant = async (
  { db, sealer }: GrantDeps,
  name: string,
): Promise<CommandLineGrant | undefined> =>
  (await findRecord(db, sealer, MODEL, { id: name }))?.payload as CommandLineGrant | undefined;

/** One token comes of a grant. The row stays locked, so that whoever ends the grant also ends the token. */
export const issueOnce = (
  { db, sealer, loginTokens }: GrantDeps,
  name: string,
  { token, scopes, expires }: { token: string; scopes: string[]; expires: Date },
): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const record = await lockRecord(tx, sealer, MODEL, name);
    const grant = record?.payload as CommandLineGrant | undefined;
    if (record === undefined || grant === undefined || grant.tokenSha256 !== undefined)
      throw new errors.InvalidGrant("what the person agreed to has ended");
    const { person, machine } = grant;
    await loginTokens.issue(tx, {
      ...{ person, token, scopes, expires },
      clientId: COMMAND_LINE,
      label: labelOf(machine),
    });
    const issued = recordOf(name, { ...grant, tokenSha256: sha256(token).toString("hex") });
    await rewriteRecord(tx, sealer, issued, record.key);
  });

/** And the token that came of it. */
export async function endCommandLineGrant({ db, sealer, loginTokens }: GrantDeps, name: string): Promise<void> {
  const grant = (await takeRecord(db, sealer, MODEL, name))?.payload as CommandLineGrant | undefined;
  if (grant?.tokenSha256 !== undefined) await loginTokens.revoke(COMMAND_LINE, Buffer.from(grant.tokenSha256, "hex"));
}
