import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker, type WorkerOptions } from "@temporalio/worker";
import { beforeAll, expect, test } from "vitest";
import { workflowsForTests } from "#testing/temporal.ts";
import { columnChanges } from "./databases/updates/table.ts";

const folder = join(import.meta.dirname, "../histories");
const recorded = readdirSync(folder).filter((name) => name.endsWith(".json"));

let workflowBundle: Awaited<ReturnType<typeof workflowsForTests>>;
beforeAll(async () => {
  workflowBundle = await workflowsForTests();
});

test("there is a recorded history of every workflow", async () => {
  const kinds = new Set(recorded.map((name) => name.split("-")[0]));
  const { default: ofColumnChanges, ...named } = await import("./workflows.ts");
  expect(ofColumnChanges).toBeDefined();
  expect(kinds).toEqual(new Set([...Object.keys(named), ...columnChanges.map(({ kind }) => kind)]));
});

// A workflow that runs during a deployment continues in the new code, which must make the same decisions.
test("every recorded history replays", async () => {
  const histories = recorded.map((name) => ({
    workflowId: name,
    history: JSON.parse(readFileSync(join(folder, name), "utf8")) as unknown,
  }));
  // Debug mode, the default of a replay, would track every promise of this process until its end.
  const options: WorkerOptions = { taskQueue: "replay", workflowBundle, debugMode: false };
  const replays = Worker.runReplayHistories(options, histories);
  const errors = new Map<string, Error | undefined>();
  for await (const { workflowId, error } of replays) errors.set(workflowId, error);

  expect(errors).toEqual(new Map(recorded.map((name) => [name, undefined])));
});
