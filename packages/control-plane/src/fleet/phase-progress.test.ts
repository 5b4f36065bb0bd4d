import { expect, test } from "vitest";
import { type PhaseSpan, percentOf, type ReportedNode } from "./phase-progress.ts";

const node = (change: Partial<ReportedNode>): ReportedNode => ({
  id: "n1",
  observed_epoch: 1,
  observed_generation: 3,
  observed_percent: 100,
  observed_tasks: [],
  ...change,
});
const phase = (
  from: number | null,
  to: number | null,
  change: Partial<PhaseSpan["nodes"][number]> = {},
): PhaseSpan => ({
  nodes: [{ node: "n1", epoch: 1, generation: 3, ...change }],
  percent_from: from,
  percent_to: to,
});
const copying = (percent: number) => node({ observed_tasks: [{ id: "copy", state: "working", percent }] });

test.each<[string, PhaseSpan[], ReportedNode, number]>([
  ["a node that runs as before has not begun the phase", [phase(0, 100)], node({ observed_generation: 2 }), 0],
  [
    "a node of an earlier epoch has not begun it either",
    [phase(0, 100)],
    node({ observed_epoch: 0, observed_generation: 9 }),
    0,
  ],
  ["half of the second phase", [phase(0, 10, { generation: 2 }), phase(10, 100)], node({ observed_percent: 50 }), 55],
  [
    "the second phase has just begun",
    [phase(0, 10, { generation: 2 }), phase(10, 100)],
    node({ observed_percent: 0 }),
    10,
  ],
  ["all of it", [phase(0, 10, { generation: 2 }), phase(10, 100)], node({}), 100],
  ["a node that runs and copies is as far as its copy", [phase(0, 100, { tasks: ["copy"] })], copying(30), 30],
  ["a job that it does not name yet", [phase(0, 100, { tasks: ["copy"] })], node({}), 0],
  ["somebody else's job does not count", [phase(0, 100)], copying(30), 100],
  ["a phase without a part of the whole", [phase(0, 40, { generation: 2 }), phase(null, null)], node({}), 40],
  ["no phase yet", [], node({}), 0],
])("%s", (_name, phases, one, percent) => {
  expect(percentOf(phases, [one])).toBe(percent);
});

test("the progress of a phase of three nodes is their average", () => {
  const nodes = ["n1", "n2", "n3"].map((id, index) => node({ id, observed_percent: index * 30 }));
  const all = { ...phase(50, 100), nodes: nodes.map(({ id }) => ({ node: id, epoch: 1, generation: 3 })) };
  expect(percentOf([all], nodes)).toBe(65);
});
