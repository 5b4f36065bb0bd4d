import { sql } from "kysely";
import type { DnsServer, RecordSet } from "#dns/index.ts";
import { findHost, findNodes, type HostRow } from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { hasDatabase } from "../model/database-store.ts";
import { primaryHostname, privateHostname } from "../model/entity.ts";

type DnsDeps = { db: Db; clock: Clock; dnsServer: DnsServer; zone: string };
const BATCH = 100;

type Key = { account_id: number; id: number };
type Addresses = Pick<HostRow, "address" | "address6" | "private_address">;

/** The workflow steps that use the DNS server. Each sets the complete state, so it can be repeated. */
export const createDnsActivities = (deps: DnsDeps) => ({
  publishDnsRecords: async (operationId: number): Promise<void> => publish(deps, await keyOf(deps.db, operationId)),
  withdrawDnsRecords: async (operationId: number): Promise<void> => withdraw(deps, await keyOf(deps.db, operationId)),
});
export type DnsActivities = ReturnType<typeof createDnsActivities>;

/**
 * Databases whose DNS records are wrong and have no workflow to correct them: created before there were records,
 * written again by a recovery, or deleted while the DNS server did not answer.
 */
export const createDnsJob = (deps: DnsDeps & { eachDue: EachDue }) => {
  const { db, clock } = deps;
  const each = deps.eachDue("dns", "database");
  return async (): Promise<void> => {
    const found = await db
      .selectFrom("databases")
      .select(["account_id", "id", "deleted_at"])
      .where(sql<boolean>`(deleted_at is null) = (dns_published_at is null)`)
      .where((is) => is.or([is("deleted_at", "is not", null), is("status", "in", ["active", "degraded"])]))
      .orderBy("id")
      .limit(BATCH + each.skipped())
      .execute();
    await each.run(found, async (key) => {
      if (key.deleted_at !== null) return withdraw(deps, key);
      await publish(deps, key);
      await setDnsPublished(db, key, clock());
    });
  };
};

const keyOf = async (db: Db, operationId: number): Promise<Key> => {
  const { account_id, entity_id } = await findOperation(db, operationId);
  return { account_id, id: entity_id };
};

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

/** All records of a database: all of its hosts, or none when it must not be reachable. */
export function recordSetsOf(databaseId: number, hosts: readonly Addresses[], zone: string): RecordSet[] {
  const under = (name: string, places: readonly (string | null)[]): RecordSet[] => {
    const known = [...new Set(places.filter((place) => place !== null))].sort();
    return [
      { name, type: "A", addresses: known.filter((address) => !address.includes(":")) },
      { name, type: "AAAA", addresses: known.filter((address) => address.includes(":")) },
    ];
  };
  return [
    ...under(
      primaryHostname(databaseId, zone),
      hosts.flatMap(({ address, address6 }) => [address, address6]),
    ),
    // A host without a private network has its public addresses under both hostnames.
    ...under(
      privateHostname(databaseId, zone),
      hosts.flatMap((host) => (host.private_address === null ? [host.address, host.address6] : [host.private_address])),
    ),
  ];
}
