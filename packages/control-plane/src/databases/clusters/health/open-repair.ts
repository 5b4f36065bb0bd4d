import type { Tx } from "#platform/db/database.ts";
import { openWork } from "../../changes/change.ts";
import type { DatabaseRow } from "../../model/database-store.ts";
import { bootstrap, type BootstrapInput } from "./bootstrap-activities.ts";
import type { Next } from "./cluster-health.ts";
import { type ReplaceInput, replacement } from "./replace-activities.ts";
import { type Held, type ReplacementLimits, replacementHeldBy } from "./replacement-limits.ts";

type RepairSettings = ReplacementLimits & { changeDeadlineSeconds: number; restoreDeadlineSeconds: number };

/** Opens the repair of a cluster, if there is one to do. Answers why a replacement has to wait. */
export async function openRepair(
  settings: RepairSettings,
  tx: Tx,
  database: DatabaseRow,
  next: Next,
  at: Date,
): Promise<Held | undefined> {
  const common = { username: null, at } as const;
  if (next.do === "replace") {
    const held = await replacementHeldBy(tx, database, settings, at);
    if (held !== undefined) return held;
    await openWork(tx, database, replacement, {
      ...common,
      detail: { node: next.node },
      input: { node: next.node, ordinal: next.ordinal } satisfies ReplaceInput,
      // A replacement copies all data.
      deadlineSeconds: settings.restoreDeadlineSeconds,
    });
  }
  if (next.do === "bootstrap")
    await openBootstrap(tx, database, {}, { at, deadlineSeconds: settings.changeDeadlineSeconds });
  return undefined;
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
