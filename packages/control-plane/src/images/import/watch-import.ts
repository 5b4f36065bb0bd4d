import { sql } from "kysely";
import { raisePercentWhile } from "#operations/index.ts";
import type { Db } from "#platform/db/database.ts";

const EVERY_MS = 2000;

/** The operation has been settled elsewhere, or the image was deleted: this import is no longer needed. */
export class NoLongerNeeded extends Error {
  override readonly name = "NoLongerNeeded";
}

export type ImportWatch = {
  signal: AbortSignal;
  percent: (percent: number) => void;
  [Symbol.dispose]: () => void;
};

/** While an import runs: sends heartbeats, stores the progress, and aborts the import when it is no longer needed. */
export function watchImport(
  db: Db,
  operationId: number,
  { beat, cancelled }: { beat: (percent: number) => void; cancelled?: AbortSignal | undefined },
): ImportWatch {
  const ended = new AbortController();
  let percent = 0;
  let checking = false;
  const check = async (): Promise<void> => {
    if (checking) return;
    checking = true;
    try {
      if (!(await isNeeded(db, operationId, percent)))
        ended.abort(new NoLongerNeeded("The import is no longer requested."));
    } catch {
      // Postgres is unreachable. The import needs it only at the end.
    } finally {
      checking = false;
    }
  };
  const timer = setInterval(() => {
    beat(percent);
    void check();
  }, EVERY_MS);
  return {
    signal: AbortSignal.any([ended.signal, ...(cancelled === undefined ? [] : [cancelled])]),
    percent: (now) => {
      percent = now;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

const isNeeded = (db: Db, operationId: number, percent: number): Promise<boolean> =>
  raisePercentWhile(db, operationId, percent, {
    from: sql`from images`,
    where: sql`images.id = operations.entity_id and images.deleted_at is null`,
  });
