import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "@temporalio/worker";
import { beforeAll, expect, test } from "vitest";
import { workflowsForTests } from "#testing/temporal.ts";

const folder = join(import.meta.dirname, "../histories");
const recorded = readdirSync(folder).filter((name) => name.endsWith(".json"));

let workflowBundle: Awaited<ReturnType<typeof workflowsForTests>>;
beforeAll(async () => {
  workflowBundle = await workflowsForTests();
});

test("there is a recorded history of every workflow", async () => {
  const kinds = new Set(recorded.map((name) => name.split("-")[0]));
  expect(kinds).toEqual(new Set(Object.keys(await import("./workflows.ts"))));
});

// A workflow that is under way while we deploy goes on in the new code: it must decide as it did before.
test.each(recorded)("%s replays", async (name) => {
  const history: unknown = JSON.parse(readFileSync(join(folder, name), "utf8"));
  await expect(Worker.runReplayHistory({ workflowBundle }, history)).resolves.toBeUndefined();
});
