import { sql } from "kysely";
import type { Db } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import { createPause } from "#platform/pause.ts";
import { uploadKey } from "../model/object-names.ts";
import type { ImageStore, ImageStores } from "../model/stores.ts";
import { type BeginDeps, beginImport } from "./begin-import.ts";

const MINUTE = 60;

/** A client with a new address usually uploads at once; one that has not after an hour is in no hurry. */
const intervals = [
  { youngerThan: 2 * MINUTE, seconds: 2 },
  { youngerThan: 10 * MINUTE, seconds: 5 },
  { youngerThan: 60 * MINUTE, seconds: 15 },
];
const LONGEST_SECONDS = 60;

const BATCH = 200;
const AT_ONCE = 10;
const POLL_MS = 1000;

type UploadWatcherDeps = BeginDeps & { imageStores: ImageStores; log: Log };
type UploadWatcher = { hint: (imageIds: readonly number[]) => Promise<void>; close: () => Promise<void> };
type Waiting = { id: number; region: string };

export function startUploadWatcher(deps: UploadWatcherDeps): UploadWatcher {
  const { pause, wake } = createPause(POLL_MS);
  let closed = false;
  const loop = (async () => {
    while (!closed) {
      const checked = await checkUploads(deps).catch((error: unknown) => {
        deps.log.warn({ err: error }, "uploads could not be listed; the next round lists them");
        return 0;
      });
      if (checked < BATCH) await pause();
    }
  })();
  return {
    async hint(imageIds) {
      await checkSoon(deps.db, deps.clock(), imageIds);
      wake();
    },
    async close() {
      closed = true;
      wake();
      await loop;
    },
  };
}

/** Checks the stores for the data of uploads whose check is due. Any number of workers may run it. */
export async function checkUploads(deps: UploadWatcherDeps): Promise<number> {
  const due = await takeDue(deps);
  const byStore = Map.groupBy(due, ({ region }) => deps.imageStores.of(region));
  await Promise.all([...byStore].map(([store, waiting]) => checkStore(deps, store, waiting)));
  return due.length;
}

/** The next check is scheduled before this one: a worker that dies in between delays the upload by a minute at most. */
async function takeDue({ db, clock }: UploadWatcherDeps): Promise<Waiting[]> {
  const now = clock();
  const due = await db
    .selectFrom("images")
    .select(["id", "region", "created_at"])
    .where("next_check_at", "<=", now)
    .where("deleted_at", "is", null)
    .orderBy("next_check_at")
    .limit(BATCH)
    .execute();
  if (due.length === 0) return [];
  const next = due.map(({ created_at }) => {
    const seconds = secondsToNextCheck((now.getTime() - created_at.getTime()) / 1000);
    return new Date(now.getTime() + seconds * 1000);
  });
  const { rows } = await sql<Waiting>`
    update images set next_check_at = due.next
    from unnest(${due.map(({ id }) => id)}::bigint[], ${next}::timestamptz[]) as due (id, next)
    where images.id = due.id and images.next_check_at <= ${now} returning images.id, images.region`.execute(db);
  return rows;
}

const secondsToNextCheck = (ageSeconds: number): number =>
  intervals.find(({ youngerThan }) => ageSeconds < youngerThan)?.seconds ?? LONGEST_SECONDS;

/** A store that is unreachable is not asked for further uploads in this round, and delays no other store. */
async function checkStore(deps: UploadWatcherDeps, store: ImageStore, waiting: readonly Waiting[]): Promise<void> {
  const left = [...waiting];
  const checkRest = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop())
      if ((await store.head(uploadKey(next.id))) !== undefined) await begin(deps, next.id);
  };
  const giveUp = (error: unknown): void => {
    left.length = 0;
    deps.log.warn({ err: error, store: store.name }, "uploads could not be listed; the next round lists them");
  };
  await Promise.all(Array.from({ length: AT_ONCE }, () => checkRest().catch(giveUp)));
}

/** Its next check is scheduled already: an image that cannot begin does not keep the others. */
const begin = (deps: UploadWatcherDeps, id: number): Promise<unknown> =>
  beginImport(deps, id).catch((error: unknown) =>
    deps.log.warn({ err: error, image: id }, "an uploaded image could not be imported; this is tried again"),
  );

/** A store's notification only makes the check due earlier; its content is not trusted. */
export async function checkSoon(db: Db, now: Date, imageIds: readonly number[]): Promise<void> {
  await sql`update images set next_check_at = ${now}
    where id = any(${imageIds}::bigint[]) and next_check_at > ${now} and deleted_at is null`.execute(db);
}
