import { asyncLocalStorage } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { limitConcurrency } from "#platform/limits/limit-concurrency.ts";
import { dropUnexplained, findKept } from "../model/explained.ts";
import type { ImageRow } from "../model/image-store.ts";
import { settleAvailable, settleFailed } from "../model/settle.ts";
import { texts } from "../model/texts.ts";
import { BrokenContent, verifyContent } from "../model/verify-content.ts";
import { type ImportDeps, importUpload, type UploadOutcome } from "./import-upload.ts";
import { watchImport } from "./watch-import.ts";

/** Per worker: an import takes a core, and some memory. */
const AT_ONCE = 2;

type ImportActivityDeps = ImportDeps & { clock: Clock };

/** Each is repeatable: it may run again after it has completed. */
export const createImportActivities = (deps: ImportActivityDeps) => {
  const { db, clock, imageStores } = deps;
  const limited = limitConcurrency({ atOnce: AT_ONCE, mostWaiting: 0 });

  return {
    /** Reads the upload into chunks. Faults of this installation are thrown, and retried. */
    async importUpload(operationId: number): Promise<UploadOutcome> {
      const image = await findImport(db, operationId);
      if (image === undefined) return { kind: "ended" };
      // Tests call it without Temporal.
      const context = asyncLocalStorage.getStore();
      return limited(async () => {
        using watch = watchImport(db, operationId, {
          beat: (percent) => context?.heartbeat(percent),
          cancelled: context?.cancellationSignal,
        });
        // Awaited here: the watch ends with the block.
        return await importUpload(deps, image, watch);
      }).catch(retryIfBusy);
    },

    /** `again`: what was stored is incomplete, and the import must run again. */
    async settleUpload(operationId: number, outcome: UploadOutcome): Promise<"settled" | "again"> {
      const image = await findImport(db, operationId);
      if (outcome.kind !== "taken" || image === undefined) {
        const message = outcome.kind === "refused" ? outcome.reason : texts.importDeadlineExceeded();
        await db.transaction().execute((tx) => settleFailed(tx, operationId, message, clock()));
        return "settled";
      }
      const { content, uploadSha256, manifestSha256 } = outcome;
      const verified = await verifyContent(imageStores.of(image.region), image.id, content).catch(orBroken);
      if (verified === "broken") return "again";
      // The manifest that was written is the one to settle, whatever the store returned.
      if (verified.manifestSha256.toString("hex") !== manifestSha256) throw new Error("The manifest was read wrongly.");
      const made = { content, ...verified, uploadSha256: Buffer.from(uploadSha256, "hex") };
      await db.transaction().execute((tx) => settleAvailable(tx, deps, operationId, made, clock()));
      return "settled";
    },

    /** Removes the upload and unsuccessful attempts from the store. */
    async clearUpload(operationId: number): Promise<void> {
      for (const image of await findKept(db, { operationId }))
        await dropUnexplained(imageStores.of(image.region), image);
    },
  };
};
export type ImportActivities = ReturnType<typeof createImportActivities>;

/** Ends an import whose workflow did not end it by the deadline. */
export const createImportExpiry = ({ settleUpload }: ImportActivities) => ({
  importImage: async (operationId: number): Promise<void> => {
    await settleUpload(operationId, { kind: "late" });
  },
});

/** The image of an import. Undefined: the operation has ended, or the image was deleted. */
const findImport = (db: Db, operationId: number): Promise<ImageRow | undefined> =>
  db
    .selectFrom("images")
    .innerJoin("operations", "operations.entity_id", "images.id")
    .selectAll("images")
    .where("operations.id", "=", operationId)
    .where("operations.settled_at", "is", null)
    .where("images.deleted_at", "is", null)
    .executeTakeFirst();

/** Another worker may have capacity. */
function retryIfBusy(error: unknown): never {
  if (!(error instanceof DomainError && error.kind === "unavailable")) throw error;
  throw ApplicationFailure.create({
    message: "This worker imports as much as it can.",
    type: "Busy",
    category: "BENIGN",
    nextRetryDelay: "3 seconds",
  });
}

function orBroken(error: unknown): "broken" {
  if (error instanceof BrokenContent) return "broken";
  throw error;
}
