import type { RawBuilder } from "kysely";
import type { Db } from "./database.ts";

const BATCH = 1000;
/** What is left over waits for the next sweep, so that other chores get their turn. */
const MOST_BATCHES = 20;

/** Deletes what a sweep finds, a bounded part at a time: no statement holds many rows, and none runs long. */
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
