import type { RawBuilder } from "kysely";
import type { Db } from "./database.ts";

const BATCH = 1000;
/** The rest waits for the next sweep, so that other jobs can run. */
const MOST_BATCHES = 20;

/** Deletes what a sweep finds in bounded batches: no statement holds many rows or runs long. */
export async function deleteInBatches(
  db: Db,
  deleting: (most: number) => RawBuilder<unknown>,
  batch = BATCH,
): Promise<void> {
  for (let done = 0; done < MOST_BATCHES; done++) {
    const { numAffectedRows } = await deleting(batch).execute(db);
    if (Number(numAffectedRows ?? 0) < batch) return;
  }
}
