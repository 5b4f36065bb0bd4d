import { forTenants } from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import type { Text } from "@moorage/contract/texts";
import type { ImageSettings } from "../model/settings.ts";
import { MB } from "../model/units.ts";
import { type MadeContent, settleAvailable, settleFailed } from "../model/settle.ts";
import type { ImageStores } from "../model/stores.ts";
import { BrokenContent, verifyContent } from "../model/verify-content.ts";
import { type CaptureFacts, progressOf, whyLate } from "./capture.ts";
import { type CaptureWork, endCapture, findCaptureWork, holdInstance } from "./capture-store.ts";
import { texts } from "./texts.ts";

export type CaptureActivityDeps = { db: Db; clock: Clock; images: ImageSettings; imageStores: ImageStores };
export type CaptureEnd = "ended" | "late" | "store away";

/** The steps of a capture. Each is repeatable: it may run again after it has completed. */
export const createCaptureActivities = (deps: CaptureActivityDeps) => ({
  checkCapture: async (operationId: number): Promise<"working" | "ended"> => {
    const work = await findCaptureWork(deps.db, operationId);
    return work !== undefined && progressOf(factsOf(work)).state === "working" ? "working" : "ended";
  },

  /** The host's report is not trusted: the store is checked for the disk. */
  settleCapture: async (operationId: number, end: CaptureEnd): Promise<"settled" | "working"> => {
    const work = await findCaptureWork(deps.db, operationId);
    if (work === undefined) return "settled";
    const made = await madeBy(deps, work, end);
    // The reported end was wrong, or the capture continues.
    if (made === undefined) return "working";
    await settle(deps, work, made);
    // The host drops the capture; grants on a removed image end.
    await notify(deps.db, "host", String(work.host_id));
    await notify(deps.db, "identity");
    return "settled";
  },
});
export type CaptureActivities = ReturnType<typeof createCaptureActivities>;

/** Ends a capture whose workflow did not end it by the deadline. */
export const createCaptureExpiry = ({ settleCapture }: CaptureActivities) => ({
  captureImage: async (operationId: number): Promise<void> => void (await settleCapture(operationId, "late")),
});

type Made = MadeContent | { failed: Text };

async function madeBy(
  { db, imageStores }: CaptureActivityDeps,
  work: CaptureWork,
  end: CaptureEnd,
): Promise<Made | undefined> {
  const facts = factsOf(work);
  const progress = progressOf(facts);
  if (progress.state === "failed") return { failed: progress.message };
  if (progress.state === "working") {
    if (end === "ended") return undefined;
    const { percent } = await findOperation(db, work.operation_id);
    return { failed: whyLate(facts, percent) };
  }
  if (end !== "ended") return { failed: texts.captureStoreUnreachable() };
  const { content } = progress;
  try {
    const verified = await verifyContent(imageStores.of(work.region), work.image_id, content);
    if (verified.manifest.raw_bytes > work.max_bytes)
      return { failed: texts.captureAboveLimit({ maxMb: work.max_bytes / MB }) };
    return { content, ...verified };
  } catch (error) {
    if (!(error instanceof BrokenContent)) throw error;
    return { failed: texts.captureIncomplete({ why: error.message }) };
  }
}

const settle = ({ db, clock, ...deps }: CaptureActivityDeps, work: CaptureWork, made: Made): Promise<void> =>
  db.transaction().execute(async (tx) => {
    // Locked first, as in a transfer. What was read until then belongs to the account that requested it.
    const theirs = await holdInstance(tx, work);
    if ("failed" in made) await settleFailed(tx, work.operation_id, made.failed, clock());
    else if (!theirs) await settleFailed(tx, work.operation_id, texts.captureTransferred(), clock());
    else await settleAvailable(tx, deps, work.operation_id, made, clock());
    await endCapture(tx, work.operation_id);
  });

const factsOf = (work: CaptureWork): CaptureFacts => ({
  imageIsThere: work.image_deleted_at === null,
  diskIsTheirs: work.own_disk !== null,
  host: { state: work.host_state, captures: work.host_captures ?? undefined },
  seenSince: work.seen_at !== null && work.seen_at > work.created_at,
  state: work.observed_state,
  message: work.observed_message === null ? null : forTenants(work.observed_message),
  content: work.observed_content,
});
