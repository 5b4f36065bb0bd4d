import { Gauge, type Registry } from "prom-client";
import { countSilentHosts, lockRegion, type SeenHosts } from "#fleet/index.ts";
import { addSignal } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../model/database-store.ts";

export type ReplacementLimits = {
  /** Replacements that are open at once in a region. */
  replacementsPerRegion: number;
  /** If more of a region's hosts are silent at once, none of its nodes is replaced. */
  silentHostsPercent: number;
};

/** One host that is down is what replacements are for, however few hosts the region has. */
const LEAST_SILENT = 2;

/** Hosts that are silent together have more likely lost their network, or we ours, than their nodes. Pure. */
export const areTooManySilent = (
  { active, silent }: SeenHosts,
  { silentHostsPercent }: Pick<ReplacementLimits, "silentHostsPercent">,
): boolean => silent >= LEAST_SILENT && silent * 100 > active * silentHostsPercent;

/** Why no replacement may be opened. */
export type Held = { by: "limit"; open: number } | { by: "silent hosts"; silent: number; active: number };

/** Locks the region, so that two workers do not open the last one both. Undefined: a replacement may be opened. */
export async function replacementHeldBy(
  tx: Tx,
  { region }: Pick<DatabaseRow, "region">,
  limits: ReplacementLimits,
  now: Date,
): Promise<Held | undefined> {
  await lockRegion(tx, region);
  const seen = (await countSilentHosts(tx, now, region)).get(region) ?? { active: 0, silent: 0 };
  if (areTooManySilent(seen, limits)) return { by: "silent hosts", ...seen };
  const open = (await openReplacements(tx, region)).length;
  return open >= limits.replacementsPerRegion ? { by: "limit", open } : undefined;
}

/** Without those that a host's limit of deletions holds: they may take a day, and copy nothing meanwhile. */
const openReplacements = (tx: Tx, region: string): Promise<{ id: number }[]> =>
  tx
    .selectFrom("operations")
    .innerJoin("databases", (join) =>
      join
        .onRef("databases.account_id", "=", "operations.account_id")
        .onRef("databases.id", "=", "operations.entity_id"),
    )
    .select("operations.id")
    .where("operations.kind", "=", "replaceNode")
    .where("operations.settled_at", "is", null)
    .where("databases.region", "=", region)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("nodes")
            .select("nodes.id")
            .whereRef("nodes.waiting_operation_id", "=", "operations.id")
            .where("nodes.observed_state", "=", "held"),
        ),
      ),
    )
    .execute();

/** A host may have room for the next clone: those that wait for one are placed. */
export async function wakeReplacements(tx: Tx, { region }: Pick<DatabaseRow, "region">): Promise<void> {
  for (const { id } of await openReplacements(tx, region)) await addSignal(tx, id);
}

/** Read when it is scraped: an alert must not depend on a cluster that needs a replacement. */
export function addReplacementsGauge(
  registry: Registry,
  { db, clock, ...limits }: { db: Db; clock: Clock } & Pick<ReplacementLimits, "silentHostsPercent">,
): void {
  const gauge = new Gauge({
    name: "moorage_replacements_paused",
    help: "1 while no node of the region is replaced, because too many of its hosts are silent at once.",
    labelNames: ["region"],
    registers: [],
    async collect() {
      const regions = await countSilentHosts(db, clock()).catch(() => new Map<string, SeenHosts>());
      this.reset();
      for (const [region, seen] of regions) this.set({ region }, areTooManySilent(seen, limits) ? 1 : 0);
    },
  });
  registry.registerMetric(gauge);
}
