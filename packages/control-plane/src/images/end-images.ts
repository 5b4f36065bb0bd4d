import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { removeImage } from "./delete-image.ts";
import { lockImagesOf } from "./image-store.ts";

/** The steps at which it can die. */
export const endImagesSteps = ["worker.endClosedImages"] as const;

/** Part of the end of a closed account's data: its images go, automatic ones too, if its time is over. Repeatable. */
export const createEndImages =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  (accountId: number): Promise<void> =>
    transact(db, endImagesSteps[0], async (tx) => {
      const at = clock();
      const images = await lockImagesOf(tx, accountId);
      // After the images, as everybody locks them; nobody opens the account again until the end of this.
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
