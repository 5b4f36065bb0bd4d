import { randomBytes } from "node:crypto";
import { errors } from "oidc-provider";
import type { Db } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";
import { COMMAND_LINE, labelOf, type LoginTokens } from "./command-line.ts";
import type { Person } from "./interactions.ts";
import { findRecord, lockRecord, rewriteRecord, saveRecord, takeRecord } from "./record-store.ts";

export type GrantDeps = { db: Db; sealer: Sealer; loginTokens: LoginTokens };

/** A person's consent to sign the command line in. It lasts until the token is fetched. */
export type CommandLineGrant = {
  person: Person;
  scopes: string[];
  machine: string;
  createdAt: string;
  expiresAt: string;
  /** Hash of the token that was issued from it. */
  tokenSha256?: string;
};

const MODEL = "CommandLineGrant";
const recordOf = (id: string, payload: CommandLineGrant) => ({
  model: MODEL,
  id,
  payload,
  person: payload.person,
  expiresAt: new Date(payload.expiresAt),
});

/** Returns the grant's name. */
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

/** A grant yields one token. The row stays locked, so that ending the grant also revokes the token. */
export const issueOnce = (
  { db, sealer, loginTokens }: GrantDeps,
  name: string,
  { token, scopes, expires }: { token: string; scopes: string[]; expires: Date },
): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const record = await lockRecord(tx, sealer, MODEL, name);
    const grant = record?.payload as CommandLineGrant | undefined;
    if (record === undefined || grant === undefined || grant.tokenSha256 !== undefined)
      throw new errors.InvalidGrant("the grant has ended");
    const { person, machine } = grant;
    await loginTokens.issue(tx, {
      person,
      token,
      scopes,
      expires,
      clientId: COMMAND_LINE,
      label: labelOf(machine),
    });
    const issued = recordOf(name, { ...grant, tokenSha256: sha256(token).toString("hex") });
    await rewriteRecord(tx, sealer, issued, record.key);
  });

/** Also revokes the token that was issued from it. */
export async function endCommandLineGrant({ db, sealer, loginTokens }: GrantDeps, name: string): Promise<void> {
  const grant = (await takeRecord(db, sealer, MODEL, name))?.payload as CommandLineGrant | undefined;
  if (grant?.tokenSha256 !== undefined) await loginTokens.revoke(COMMAND_LINE, Buffer.from(grant.tokenSha256, "hex"));
}
