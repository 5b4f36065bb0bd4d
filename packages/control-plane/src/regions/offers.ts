import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { type EngineVersion, listEngineVersions, listPlans, listRegions, type Plan, type Region } from "./catalogue.ts";

export type Offered = { regions: Region[]; plans: Plan[]; engineVersions: EngineVersion[] };
export type Offers = {
  /** As it was at most five seconds ago: what an operator takes back may be had that much longer. */
  recent(): Promise<Offered>;
  /** As it is: for what is not in the other one. */
  now(): Promise<Offered>;
};

const KEPT_MS = 5_000;

/** What can be created, kept in memory: every create asks for it, and it changes when an operator decides so. */
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
