import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import { openWork } from "../../open-work.ts";
import type { Next } from "./cluster-health.ts";

type Deadlines = { changeDeadlineSeconds: number; restoreDeadlineSeconds: number };

/** What a replacement is about. */
export type ReplaceInput = { node: string; ordinal: number };
/** `accept_loss`: those whose hosts are dead are not waited for, whatever they had. */
export type BootstrapInput = { accept_loss?: true };

/** The operation that mends a cluster, if one is to. */
export async function openRepair(
  deadlines: Deadlines,
  tx: Tx,
  database: DatabaseRow,
  next: Next,
  at: Date,
): Promise<void> {
  const common = { username: null, at } as const;
  if (next.do === "replace")
    await openWork(tx, database, {
      ...{ ...common, kind: "replaceNode", audited: "replace_node", detail: { node: next.node } },
      input: { node: next.node, ordinal: next.ordinal } satisfies ReplaceInput,
      events: ["database_node_replace"],
      // It copies all data.
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
  openWork(tx, database, {
    ...{ ...times, username: null, kind: "bootstrapGroup", audited: "bootstrap_group", detail: input, input },
    events: ["database_group_form"],
  });
