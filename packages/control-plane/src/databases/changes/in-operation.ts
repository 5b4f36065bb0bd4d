import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { loadDatabase, wakeHosts } from "../desired-specs.ts";
import type { ArchiveSettings } from "../node-spec.ts";

export type Engine = { db: Db; clock: Clock; zone: string; archive: ArchiveSettings };

/** The database of an operation, locked, and everything that its nodes' specs are made from. */
export type ChangeContext = Awaited<ReturnType<typeof loadDatabase>> & Pick<Engine, "zone">;

/** The result of a step, and the hosts whose desired state it changed. */
export type Taken<Answer> = { answer: Answer; hosts?: readonly number[] };

/** One step of an operation: one transaction under the lock of the database's row, and then a hint to the hosts. */
export async function inOperation<Answer>(
  { db, zone, archive }: Omit<Engine, "clock">,
  operationId: number,
  step: (tx: Tx, context: ChangeContext) => Promise<Taken<Answer>>,
): Promise<Answer> {
  const { answer, hosts = [] } = await db
    .transaction()
    .execute(async (tx) => step(tx, { ...(await loadDatabase(tx, operationId, archive)), zone }));
  await wakeHosts(db, { hosts });
  return answer;
}

/** `requested`: hosts have something to do. `not requested`: the operation has ended, or there is nothing to do. */
export const requested = (toWake: { hosts: readonly number[] } | undefined): Taken<"requested" | "not requested"> =>
  toWake === undefined ? { answer: "not requested" } : { answer: "requested", hosts: toWake.hosts };
