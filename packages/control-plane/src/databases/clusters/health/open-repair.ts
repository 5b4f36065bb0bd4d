import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import { openWork } from "../../changes/open-work.ts";
import { type BootstrapInput, bootstrap } from "./bootstrap-activities.ts";
import type { Next } from "./cluster-health.ts";
import { type ReplaceInput, replacement } from "./replace-activities.ts";

type Deadlines = { changeDeadlineSeconds: number; restoreDeadlineSeconds: number };

/** Opens the repair of a cluster, if there is one to do. */
export async function openRepair(
  deadlines: Deadlines,
  tx: Tx,
  database: DatabaseRow,
  next: Next,
  at: Date,
): Promise<void> {
  const common = { username: null, at } as const;
  if (next.do === "replace")
    await openWork(tx, database, replacement, {
      ...common,
      detail: { node: next.node },
      input: { node: next.node, ordinal: next.ordinal } satisfies ReplaceInput,
      // A replacement copies all data.
      deadlineSeconds: deadlines.restoreDeadlineSeconds,
    });
  if (next.do === "bootstrap")
    await openBootstrap(tx, database, {}, { at, deadlineSeconds: deadlines.changeDeadlineSeconds });
}

export const openBootstrap = (
  tx: Tx,
  database: DatabaseRow,
  input: BootstrapInput,
  times: { at: Date; deadlineSeconds: number },
): Promise<void> =>
  openWork(tx, database, bootstrap, {
    ...times,
    username: null,
    detail: input,
    input,
  });
