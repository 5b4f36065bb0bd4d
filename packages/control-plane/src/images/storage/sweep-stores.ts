import { step } from "@moorage/crash-points";
import { sql } from "kysely";
import type { EachDue } from "#platform/each-due.ts";
import type { StoredObject } from "#platform/s3-client.ts";
import { ownerOfKey } from "../model/object-names.ts";
import type { PurgingImageStore } from "../model/stores.ts";
import type { StorageDeps } from "./clear-deleted.ts";
import { findKept, isExplained } from "../model/explained.ts";

export const sweepSteps = ["worker.sweepImages"] as const;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const AGAIN_MS = 600_000;
/** Rows are never deleted. If one is missing, our database was set back, and the operator may want to undo that. */
const UNKNOWN_MS = 7 * DAY_MS;

/** Once a day compares all objects of a store with the rows: finds repeated uploads, and leftovers of dead workers. */
export const createSweepImagesJob = (deps: StorageDeps & { eachDue: EachDue }) => {
  const each = deps.eachDue("sweepImages", "store", { leastMs: AGAIN_MS, mostMs: HOUR_MS });
  return (): Promise<void> =>
    each.run(
      deps.imageStores.all.map((store) => ({ id: store.name, store })),
      async ({ store }) => {
        if (!(await claimSweep(deps, store.name))) return;
        await step(sweepSteps[0], () => sweepStore(deps, store));
        await setSwept(deps, store.name, deps.clock());
      },
    );
};

export async function sweepStore(deps: StorageDeps, { purging }: PurgingImageStore): Promise<void> {
  for (const prefix of ["uploads/", "images/"])
    for await (const page of purging.list(prefix)) await purging.deleteMany(await orphansOf(deps, page));
}

/** The rows are read after the objects were listed: whatever starts meanwhile is not among the objects. */
async function orphansOf({ db, clock }: StorageDeps, page: readonly StoredObject[]): Promise<string[]> {
  const owned = page.flatMap(({ key, at }) => {
    const owner = ownerOfKey(key);
    return owner === undefined ? [] : [{ key, at, ...owner }];
  });
  const ids = [...new Set(owned.map(({ imageId }) => imageId))];
  const images = new Map((await findKept(db, { ids })).map((image) => [image.id, image]));
  const known = clock().getTime() - UNKNOWN_MS;
  return owned
    .filter(({ imageId, content, at }) => {
      const image = images.get(imageId);
      return image === undefined ? at.getTime() < known : !isExplained(image, content);
    })
    .map(({ key }) => key);
}

/** One worker at a time, for a limited time: if it dies, or the store is unreachable, another one sweeps. */
async function claimSweep({ db, clock }: StorageDeps, store: string): Promise<boolean> {
  const dayAgo = clock().getTime() - DAY_MS;
  const { rows } = await sql`
    insert into image_sweeps (store, swept_at) values (${store}, ${new Date(dayAgo + AGAIN_MS)})
    on conflict (store) do update set swept_at = excluded.swept_at
      where image_sweeps.swept_at <= ${new Date(dayAgo)} returning store`.execute(db);
  return rows.length > 0;
}

const setSwept = ({ db }: StorageDeps, store: string, swept_at: Date): Promise<unknown> =>
  db.updateTable("image_sweeps").set({ swept_at }).where("store", "=", store).execute();
