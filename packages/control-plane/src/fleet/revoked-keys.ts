import type { RevokedKeys } from "@moorage/contract/agent";
import type { Db } from "#platform/db/database.ts";
import { sha256 } from "#platform/sha256.ts";
import { PEER_DAYS } from "./enrol.ts";

const DAY_MS = 86_400_000;
/** The version of the empty list, which a host without a list has. */
export const NONE = "";

/**
 * The keys that hosts refuse among themselves: of each, a certificate may still be valid. The key of a host that is to be
 * enrolled again counts until its new one is: its clusters need the views of its gatekeeper.
 */
export async function revokedKeys(db: Db, now: Date): Promise<RevokedKeys> {
  const rows = await db
    .selectFrom("revoked_host_keys")
    .innerJoin("hosts", "hosts.id", "revoked_host_keys.host_id")
    .select("key_sha256")
    .where("revoked_host_keys.revoked_at", ">", new Date(now.getTime() - PEER_DAYS * DAY_MS))
    .where((is) => is.or([is("enrol_key_sha256", "is not", null), is("enrol_token_sha256", "is", null)]))
    .orderBy("key_sha256")
    .execute();
  const keys = rows.map(({ key_sha256 }) => key_sha256.toString("hex"));
  return { version: keys.length === 0 ? NONE : sha256(keys.join()).toString("hex"), keys };
}
