import { isIPv4 } from "node:net";
import { sql } from "kysely";
import { Gauge, type Registry } from "prom-client";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";

/** A host that moves has another address from then on. Two holders of a certificate poll in turn, every ten seconds. */
const IN_TURN_MS = 10 * 60_000;
const SHOWN_MS = 24 * 3_600_000;

/**
 * Notes from which address a host's certificate is used. Addresses of the two families are compared separately: an
 * agent may use both.
 */
export async function noteSource(db: Db, hostId: number, ip: string, now: Date): Promise<void> {
  const source = ip.replace(/^::ffff:(?=[\d.]+$)/i, "").replace(/%.*$/, "");
  const family = isIPv4(source) ? 4 : 6;
  const known = await db
    .selectFrom("host_sources")
    .select(sql<boolean>`source = ${source}::inet`.as("same"))
    .where("host_id", "=", hostId)
    .where("family", "=", family)
    .executeTakeFirst();
  if (known?.same === true) return;
  const since = new Date(now.getTime() - IN_TURN_MS);
  await db
    .insertInto("host_sources")
    .values({ host_id: hostId, family, source, changed_at: now })
    .onConflict((conflict) =>
      conflict.columns(["host_id", "family"]).doUpdateSet(({ eb, ref }) => ({
        source,
        former: ref("host_sources.source"),
        changed_at: now,
        in_turn_at: eb
          .case()
          .when(eb.and([eb("host_sources.former", "=", source), eb("host_sources.changed_at", ">", since)]))
          .then(now)
          .else(ref("host_sources.in_turn_at"))
          .end(),
      })),
    )
    .execute();
}

/** The pairs of addresses that used a host's certificate in turn within the last day, by the id of the host. */
export async function listSharedCertificates(db: Db, now: Date): Promise<Map<number, string[]>> {
  const rows = await db
    .selectFrom("host_sources")
    .select(["host_id", "source", "former"])
    .where("in_turn_at", ">", new Date(now.getTime() - SHOWN_MS))
    .orderBy("host_id")
    .orderBy("family")
    .execute();
  const shared = new Map<number, string[]>();
  for (const { host_id, source, former } of rows)
    shared.set(host_id, [...(shared.get(host_id) ?? []), ...[source, former ?? ""].sort()]);
  return shared;
}

/** For an alert: somebody must look. */
export function addSharedCertificatesGauge(registry: Registry, { db, clock }: { db: Db; clock: Clock }): void {
  const gauge = new Gauge({
    name: "moorage_host_certificates_shared",
    help: "Hosts whose certificate two addresses used in turn within the last day.",
    registers: [],
    async collect() {
      const shared = await listSharedCertificates(db, clock()).catch(() => undefined);
      if (shared !== undefined) this.set(shared.size);
    },
  });
  registry.registerMetric(gauge);
}

/** With the next key it begins anew. */
export const forgetSources = (tx: Tx, hostId: number): Promise<unknown> =>
  tx.deleteFrom("host_sources").where("host_id", "=", hostId).execute();
