import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { removeImage } from "./delete-image.ts";
import { lockImagesOf } from "./image-store.ts";

/** The steps at which the process can die. */
export const endImagesSteps = ["worker.endClosedImages"] as const;

/**
 * Part of deleting a closed account's data: removes its images, automatic ones too, once the retention has ended.
 * Repeatable.
 */
export const createEndImages =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  (accountId: number): Promise<void> =>
    transact(db, endImagesSteps[0], async (tx) => {
      const at = clock();
      const images = await lockImagesOf(tx, accountId);
      // After the images, in the usual lock order; the account cannot be reopened before this commits.
      const isOver = await tx
        .selectFrom("accounts")
        .select("id")
        .where("id", "=", accountId)
        .where("closed_at", "is not", null)
        .where("data_until", "<=", at)
        .forNoKeyUpdate()
        .executeTakeFirst();
      if (isOver === undefined) return;
      for (const image of images) await removeImage(tx, image, at);
    });
