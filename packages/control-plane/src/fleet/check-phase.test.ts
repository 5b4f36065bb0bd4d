import { expect, test } from "vitest";
import { type ObservedNode, progressOf } from "./check-phase.ts";
import { texts } from "./texts.ts";

const node = (change: Partial<ObservedNode>): ObservedNode => ({
  id: "n1",
  tombstoned: false,
  desired_spec: null,
  observed_epoch: 2,
  observed_generation: 3,
  observed_state: "running",
  observed_message: null,
  observed_tasks: [],
  ...change,
});
const target = (id: string) => ({ node: id, epoch: 2, generation: 3 });
const pending = { state: "pending" };
const observed = { state: "observed" };

test.each([
  ["running as desired", node({}), observed],
  ["running a later generation", node({ observed_generation: 4 }), observed],
  ["running an earlier generation", node({ observed_generation: 2 }), pending],
  [
    "running in a later epoch, whose generations start again",
    node({ observed_epoch: 3, observed_generation: 1 }),
    observed,
  ],
  ["running in an earlier epoch", node({ observed_epoch: 1, observed_generation: 9 }), pending],
  ["nothing reported yet", node({ observed_state: null, observed_epoch: 0, observed_generation: 0 }), pending],
  ["working", node({ observed_state: "working" }), pending],
  ["held: waits for the operator", node({ observed_state: "held" }), pending],
  ["gone, but desired", node({ observed_state: "gone" }), pending],
  ["running, but to be removed", node({ tombstoned: true }), pending],
  ["gone, as desired", node({ tombstoned: true, observed_state: "gone" }), observed],
  ["failed", node({ observed_state: "failed", observed_message: "no disk" }), { state: "failed", message: "no disk" }],
  ["unsupported", node({ observed_state: "unsupported" }), { state: "failed", message: texts.errorHidden().text }],
  ["an earlier generation failed", node({ observed_state: "failed", observed_generation: 2 }), pending],
])("%s", (_name, one, progress) => {
  expect(progressOf([one], [target("n1")])).toEqual(progress);
});

test("a phase of several nodes is done when all are, and failed when one is", () => {
  const both = [target("n1"), target("n2")];

  expect(progressOf([node({}), node({ id: "n2" })], both)).toEqual(observed);
  expect(progressOf([node({}), node({ id: "n2", observed_state: "working" })], both)).toEqual(pending);
  expect(progressOf([node({}), node({ id: "n2", observed_state: "failed" })], both)).toMatchObject({ state: "failed" });
  expect(progressOf([node({})], both)).toEqual(pending);
});

test("a phase without nodes is done at once", () => {
  expect(progressOf([], [])).toEqual(observed);
});
