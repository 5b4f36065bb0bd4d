import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@temporalio/client";
import { sql } from "kysely";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { workflowIdOfRun } from "#billing/month-end.ts";
import { workflowIdOf } from "#operations/workflow-id.ts";
import type { Db } from "#platform/db/database.ts";

const folder = join(import.meta.dirname, "../../histories");

/** For the replay test: the longest history of an ended workflow for each kind and outcome. */
export async function keepHistories(db: Db, temporal: Client, keep: "all" | "missing"): Promise<void> {
  const longest = new Map<string, { events: number; json: string }>();
  for (const { workflowId, name } of [...(await settledOperations(db)), ...(await finishedRuns(db))]) {
    const history = await temporal.workflow
      .getHandle(workflowId)
      .fetchHistory()
      .catch((error: unknown) => {
        // Older than Temporal's store, which a drill may have recreated; or settled by a test, without a workflow.
        if (error instanceof Error && /not.found/i.test(error.message)) return undefined;
        throw error;
      });
    if (history === undefined) continue;
    const events = history.events?.length ?? 0;
    if (events > (longest.get(name)?.events ?? 0)) longest.set(name, { events, json: historyToJSON(history) });
  }
  for (const [name, { events, json }] of longest) {
    const file = join(folder, `${name}.json`);
    if (keep === "missing" && existsSync(file)) continue;
    writeFileSync(file, `${json}\n`);
    console.log(`${name}: ${events} events`);
  }
}

/** Operations on a cluster may take other steps than those on one node. */
const ofThree = sql<boolean>`exists (
  select from desired_phases, jsonb_array_elements(desired_phases.nodes) desired
  join members on members.node_id = (desired ->> 'node')::uuid
  where desired_phases.operation_id = operations.id)`.as("of_three");

async function settledOperations(db: Db) {
  const settled = await db
    .selectFrom("operations")
    .select(["id", "run", "kind", "outcome", ofThree])
    .where("settled_at", "is not", null)
    .orderBy("id", "desc")
    .limit(400)
    .execute();
  return settled.map((operation) => ({
    workflowId: workflowIdOf(operation),
    name: `${operation.kind}-${operation.outcome}${operation.of_three ? "-of-three" : ""}`,
  }));
}

async function finishedRuns(db: Db) {
  const finished = await db
    .selectFrom("billing_runs")
    .select(["month", "first_account"])
    .where("finished_at", "is not", null)
    .orderBy("month", "desc")
    .limit(20)
    .execute();
  return finished.map(({ month, first_account }) => ({
    workflowId: workflowIdOfRun({ month, firstAccount: first_account }),
    name: "closeMonth-done",
  }));
}
