/**
 * Keeps histories of finished workflows of a running installation (`. .stack/env` first), for the replay test: the
 * longest of each kind and outcome, so that retries and waits are in them. Run it when a workflow is released; a
 * recorded history is never edited.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { workflowIdOf } from "#operations/workflow-id.ts";
import { readConfig } from "#platform/config.ts";
import { createDb, createPool } from "#platform/db/database.ts";
import { connectClient } from "#platform/temporal/connect.ts";

const config = readConfig();
const db = createDb(createPool(config.DATABASE_URL, 1));
const temporal = await connectClient(config.TEMPORAL_ADDRESS, config.TEMPORAL_NAMESPACE);
const settled = await db
  .selectFrom("operations")
  .select(["id", "run", "kind", "outcome"])
  .where("settled_at", "is not", null)
  .orderBy("id", "desc")
  .limit(400)
  .execute();
const longest = new Map<string, { events: number; json: string }>();
for (const operation of settled) {
  const history = await temporal.workflow
    .getHandle(workflowIdOf(operation))
    .fetchHistory()
    .catch((error: unknown) => {
      // Older than Temporal's store, which a drill may have made anew.
      if (error instanceof Error && error.message.includes("NOT_FOUND")) return undefined;
      throw error;
    });
  if (history === undefined) continue;
  const name = `${operation.kind}-${operation.outcome}`;
  const events = history.events?.length ?? 0;
  if (events > (longest.get(name)?.events ?? 0)) longest.set(name, { events, json: historyToJSON(history) });
}
for (const [name, { events, json }] of longest) {
  writeFileSync(join(import.meta.dirname, "../../histories", `${name}.json`), `${json}\n`);
  console.log(`${name}: ${events} events`);
}
await temporal.connection.close();
await db.destroy();
