import { expect, test } from "vitest";
import { workflowIdOf } from "./workflow-id.ts";

test("a lost workflow is restarted under the next id, so that no id is reused", () => {
  expect([0, 1, 2].map((run) => workflowIdOf({ id: 2049, run }))).toEqual(["op-2049", "op-2049-r1", "op-2049-r2"]);
});
