import { expect, test } from "vitest";
import type { UsedIds } from "../../node-state.ts";
import { memberSpec } from "../../testing/node-spec.ts";
import { diedLeading, isFenced } from "./fence.ts";

const { cluster, node } = memberSpec(0);
if (cluster === undefined) throw new Error("no cluster");
const led = (leader: string, term = 5, replication: "asynch" | "semi_synch" = "asynch") => ({
  node,
  cluster: { ...cluster, replication, leader: { node: leader, term, over: "fence" as const } },
});
const other = memberSpec(1).node;
const opened: UsedIds = { opened: { term: 5, boot: "now" } };

const deaths: [string, ReturnType<typeof led>, UsedIds, boolean][] = [
  ["it took writes in this term", led(node), opened, true],
  ["it was never opened", led(node), {}, false],
  ["it was opened in an earlier term", led(node, 6), opened, false],
  ["it was stopped by its host", led(node), { opened: { term: 5 } }, false],
  ["its host was started since", led(node), { opened: { term: 5, boot: "before" } }, false],
  ["another leads", led(other), opened, false],
  ["it is a group's member", led(node, 5, "semi_synch"), opened, false],
];
test.each(deaths)("the end of a leader: %s", (_, spec, used, expected) => {
  expect(diedLeading(spec, used, "now")).toBe(expected);
});

const fences: [string, ReturnType<typeof led>, UsedIds, boolean][] = [
  ["in this term", led(node), { fenced: 5 }, true],
  ["in a later one", led(node), { fenced: 6 }, true],
  ["in an earlier one", led(node), { fenced: 4 }, false],
  ["never", led(node), {}, false],
  ["and another leads: it may follow", led(other), { fenced: 5 }, false],
];
test.each(fences)("fenced %s", (_, spec, used, expected) => {
  expect(isFenced(spec, used)).toBe(expected);
});
