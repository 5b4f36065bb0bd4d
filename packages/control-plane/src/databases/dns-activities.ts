import { sql } from "kysely";
import { findHost, findNodes } from "#fleet/index.ts";
import type { DnsServer } from "#dns/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { hasDatabase } from "./database-store.ts";
import { recordSetsOf } from "./dns-records.ts";

export type DnsDeps = { db: Db; clock: Clock; dnsServer: DnsServer; zone: string };
type Key = { account_id: number; id: number };

const keyOf = async (db: Db, operationId: number): Promise<Key> => {
  const { account_id, entity_id } = await findOperation(db, operationId);
  return { account_id, id: entity_id };
};

/** The workflow steps that use the DNS server. Each sets the complete state, so it can be repeated. */
export const createDnsActivities = (deps: DnsDeps) => ({
  publishDnsRecords: async (operationId: number): Promise<void> => publish(deps, await keyOf(deps.db, operationId)),
  withdrawDnsRecords: async (operationId: number): Promise<void> => withdraw(deps, await keyOf(deps.db, operationId)),
});
export type DnsActivities = ReturnType<typeof createDnsActivities>;

/** An attempt that was given up may still run and finish after the withdrawal, so it checks again at its end. */
async function publish(deps: DnsDeps, { account_id, id }: Key): Promise<void> {
  const { db, dnsServer, zone } = deps;
  const hosts = [];
  for (const node of await findNodes(db, account_id, id)) hosts.push(await findHost(db, node.host_id));
  await dnsServer.setRecords(recordSetsOf(id, hosts, zone));
  if (!(await hasDatabase(db, account_id, id))) await withdraw(deps, { account_id, id });
}

async function withdraw({ db, dnsServer, zone }: DnsDeps, key: Key): Promise<void> {
  await dnsServer.setRecords(recordSetsOf(key.id, [], zone));
  await setDnsPublished(db, key, null);
}

const setDnsPublished = (db: Db, { account_id, id }: Key, dns_published_at: Date | null): Promise<unknown> =>
  db
    .updateTable("databases")
    .set({ dns_published_at })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("deleted_at", dns_published_at === null ? "is not" : "is", null)
    .execute();

/**
 * Databases whose DNS records are wrong and have no workflow to correct them: created before there were records,
 * written again by a recovery, or deleted while the DNS server did not answer.
 */
export const createDnsJob = (deps: DnsDeps) => async (): Promise<void> => {
  const { db, clock } = deps;
  const found = await db
    .selectFrom("databases")
    .select(["account_id", "id", "deleted_at"])
    .where(sql<boolean>`(deleted_at is null) = (dns_published_at is null)`)
    .where((is) => is.or([is("deleted_at", "is not", null), is("status", "in", ["active", "degraded"])]))
    .limit(100)
    .execute();
  for (const key of found) {
    if (key.deleted_at !== null) await withdraw(deps, key);
    else {
      await publish(deps, key);
      await setDnsPublished(db, key, clock());
    }
  }
};
