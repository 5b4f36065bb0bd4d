import type { NodeSpec } from "@moorage/contract/agent";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import { isAsynchronous } from "../cluster-spec.ts";
import { findPrimary, writePrimary } from "./primary-store.ts";
import { highestTerm } from "./terms.ts";

/**
 * The primary may have changed since our backup: the highest term in any host's spec counts. The row is written once
 * the nodes that it names are known again; until then the desired specs stand for it.
 */
export async function followPrimary(
  { tx, now }: { tx: Tx; now: Date },
  database: DatabaseRow,
  { cluster }: NodeSpec,
): Promise<void> {
  if (!isAsynchronous(database)) return;
  const primary = highestTerm([await findPrimary(tx, database), cluster?.primary]);
  if (primary === undefined) return;
  const named = [primary.node, ...(primary.from === undefined ? [] : [primary.from])];
  const known = await tx.selectFrom("nodes").select("id").where("id", "in", named).execute();
  if (known.length === named.length) await writePrimary(tx, database, primary, now);
}
