import { expect, test } from "vitest";
import { workflowIdOf } from "./workflow-id.ts";

test("a workflow that was lost is started under the next name, so that the first is never reused", () => {
  expect([0, 1, 2].map((run) => workflowIdOf({ id: 2049, run }))).toEqual(["op-2049", "op-2049-r1", "op-2049-r2"]);
});
