import type { NodeSpec } from "@moorage/contract/agent";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import { isAsynchronous } from "../cluster-spec.ts";
import { findLeader, writeLeader } from "./leader-store.ts";
import { highestTerm } from "./terms.ts";

/**
 * Who leads may have changed since our copy was taken: the highest term that any host was told counts. The row is written
 * when those that it names are known again; until then what the hosts are told stands for it.
 */
export async function followLeader(
  { tx, now }: { tx: Tx; now: Date },
  database: DatabaseRow,
  { cluster }: NodeSpec,
): Promise<void> {
  if (!isAsynchronous(database)) return;
  const leader = highestTerm([await findLeader(tx, database), cluster?.leader]);
  if (leader === undefined) return;
  const named = [leader.node, ...(leader.from === undefined ? [] : [leader.from])];
  const known = await tx.selectFrom("nodes").select("id").where("id", "in", named).execute();
  if (known.length === named.length) await writeLeader(tx, database, leader, now);
}
