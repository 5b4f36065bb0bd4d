import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import type { AccountLimits } from "./identity-store.ts";
import { limitTexts } from "./texts.ts";

const exceeded: Record<keyof AccountLimits, typeof limitTexts.databasesExceeded> = {
  databases: limitTexts.databasesExceeded,
  nodes: limitTexts.nodesExceeded,
  memory_mb: limitTexts.memoryExceeded,
  disk_mb: limitTexts.diskExceeded,
};

/**
 * For cheap objects: counted before each creation, so two concurrent requests may exceed the limit by one. It bounds
 * lists, and mail to strangers. `what` in the plural, and of whom: "tokens per user".
 */
export function requireFewerThan(most: number, found: number, what: string): void {
  if (found >= most) throw new DomainError("invalid", { reason: limitTexts.countReached({ most, what }) });
}

/** Takes the account's usage including the request. */
export function requireWithinLimits(account: AccountLimits & Record<`max_${keyof AccountLimits}`, number>): void {
  const kinds = Object.keys(exceeded) as (keyof AccountLimits)[];
  const over = kinds.filter((kind) => account[kind] > account[`max_${kind}`]);
  if (over.length > 0)
    throw new DomainError(
      "invalid",
      ...over.map((kind) => ({
        reason: exceeded[kind]({ most: account[`max_${kind}`], requested: account[kind] }),
      })),
    );
}

/**
 * The part of a statement that counts usage against the account's limits and takes its next event number, for each row
 * of another part. It locks the account's row, the last in the lock order. Pass its result to `requireWithinLimits`;
 * there is no result if the account was closed meanwhile.
 */
export const counting = (usage: AccountLimits & { accountId: number }, from: RawBuilder<unknown>) => sql`
  update accounts set databases = databases + ${usage.databases}, nodes = nodes + ${usage.nodes},
    memory_mb = memory_mb + ${usage.memory_mb}, disk_mb = disk_mb + ${usage.disk_mb}, event_seq = event_seq + 1
  ${from} where accounts.id = ${usage.accountId} and accounts.closed_at is null
  returning event_seq, databases, nodes, memory_mb, disk_mb, max_databases, max_nodes, max_memory_mb, max_disk_mb`;

/** Counts more usage, or less; beyond a limit it throws, which rolls the transaction back. */
export const takeFromLimits = async (tx: Tx, accountId: number, more: AccountLimits): Promise<void> =>
  requireWithinLimits(await count(tx, accountId, more, 1));

/** For objects that already exist: counted even beyond a limit. */
export const takeWithoutLimits = (tx: Tx, accountId: number, found: AccountLimits): Promise<unknown> =>
  count(tx, accountId, found, 1);

export const releaseFromLimits = (tx: Tx, accountId: number, freed: AccountLimits): Promise<unknown> =>
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
