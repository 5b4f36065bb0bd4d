import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { type EngineVersion, listEngineVersions, listPlans, listRegions, type Plan, type Region } from "./catalogue.ts";

export type Offered = { regions: Region[]; plans: Plan[]; engineVersions: EngineVersion[] };
export type Offers = {
  /** At most five seconds old: an offer that the operator withdraws is available that much longer. */
  recent(): Promise<Offered>;
  /** Read from the database: for an offer that the cached one lacks. */
  now(): Promise<Offered>;
};

const KEPT_MS = 5_000;

/** What can be created, cached in memory: every create reads it, and only an operator changes it. */
export function createOffers({ db, clock }: { db: Db; clock: Clock }): Offers {
  let kept: { offered: Offered; until: number } | undefined;
  const now = async (): Promise<Offered> => {
    const [regions, plans, engineVersions] = await Promise.all([
      listRegions(db),
      listPlans(db),
      listEngineVersions(db),
    ]);
    const offered = { regions, plans, engineVersions };
    kept = { offered, until: clock().getTime() + KEPT_MS };
    return offered;
  };
  return {
    now,
    recent: async () => (kept !== undefined && kept.until > clock().getTime() ? kept.offered : now()),
  };
}
