import { sql } from "kysely";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import type { AccountLimits } from "./identity-store.ts";

const nameOf: Record<keyof AccountLimits, string> = {
  databases: "databases",
  nodes: "database nodes",
  memory_mb: "MB of memory",
  disk_mb: "MB of disk",
};

/**
 * Takes from what the account may have, or refuses. It locks the account's row, the last in the order of locks: call
 * it near the end of a transaction.
 */
export async function takeFromLimits(tx: Tx, accountId: number, wanted: AccountLimits): Promise<void> {
  const account = await count(tx, accountId, wanted, 1);
  const kinds = Object.keys(nameOf) as (keyof AccountLimits)[];
  const over = kinds.filter((kind) => account[kind] > account[`max_${kind}`]);
  if (over.length > 0)
    throw new DomainError(
      "invalid",
      ...over.map((kind) => ({
        reason: `This account may have ${account[`max_${kind}`]} ${nameOf[kind]}; this request would make it ${account[kind]}. Delete something, or ask the operator for more.`,
      })),
    );
}

/** For what exists already: it counts, whatever the limit says. */
export const takeWithoutLimits = (tx: Tx, accountId: number, found: AccountLimits): Promise<unknown> =>
  count(tx, accountId, found, 1);

export const giveBackToLimits = (tx: Tx, accountId: number, freed: AccountLimits): Promise<unknown> =>
  count(tx, accountId, freed, -1);

const count = (tx: Tx, accountId: number, usage: AccountLimits, sign: 1 | -1) =>
  tx
    .updateTable("accounts")
    .set({
      databases: sql`databases + ${sign * usage.databases}`,
      nodes: sql`nodes + ${sign * usage.nodes}`,
      memory_mb: sql`memory_mb + ${sign * usage.memory_mb}`,
      disk_mb: sql`disk_mb + ${sign * usage.disk_mb}`,
    })
    .where("id", "=", accountId)
    .returningAll()
    .executeTakeFirstOrThrow();
