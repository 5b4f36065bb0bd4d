import { sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { readInstallation } from "./host-store.ts";

/**
 * After the control plane's database was restored or a standby promoted, hosts may know a later state, and changes
 * wait. Once every host has polled and none was ahead, the database is proven current and changes continue. Otherwise
 * the gateway has set `set_back_at`, and the operator must recover.
 */
export const createProveCurrentJob =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  async (): Promise<void> => {
    const [here, installation] = [await currentFingerprint(db), await readInstallation(db)];
    if (installation.fingerprint === here || installation.set_back_at !== null) return;
    if (installation.unproven_since === null) {
      await db.updateTable("installation").set({ unproven_since: clock() }).execute();
      return;
    }
    const silent = await db
      .selectFrom("hosts")
      .leftJoin("host_leases", "host_leases.host_id", "hosts.id")
      .select("hosts.id")
      .where("state", "in", ["active", "drained"])
      .where((is) => is.or([is("seen_at", "is", null), is("seen_at", "<", installation.unproven_since)]))
      .limit(1)
      .executeTakeFirst();
    if (silent !== undefined) return;
    await db
      .updateTable("installation")
      .set({ fingerprint: here, unproven_since: null })
      .where("set_back_at", "is", null)
      .execute();
  };

async function currentFingerprint(db: Db): Promise<string> {
  const { rows } = await sql<{ fingerprint: string }>`select current_fingerprint() as fingerprint`.execute(db);
  return (rows[0] as { fingerprint: string }).fingerprint;
}
