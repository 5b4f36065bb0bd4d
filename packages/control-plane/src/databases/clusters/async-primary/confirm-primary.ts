import { agreedPrimary } from "@moorage/contract/agent";
import type { HostsToWake } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import type { ObservedMember } from "../health/member-condition.ts";
import { confirmPrimary, findPrimary, sendPrimary } from "./primary-store.ts";

/**
 * All members follow the new primary: its term no longer needs the condition under which it started. The next start of
 * its server must not wait for the former primary, which may be gone by then. The caller has locked the database's row.
 */
export async function confirmWhenHealthy(
  tx: Tx,
  database: DatabaseRow,
  members: readonly ObservedMember[],
  at: Date,
): Promise<HostsToWake> {
  const primary = await findPrimary(tx, database);
  if (primary === undefined || primary.reason === "fenced") return { hosts: [] };
  const agreed = agreedPrimary(members);
  if (agreed !== primary.node || members.some(({ report }) => report?.term !== primary.term)) return { hosts: [] };
  return sendPrimary(tx, database, await confirmPrimary(tx, database, primary, at));
}
