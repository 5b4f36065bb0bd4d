import { expect, test } from "vitest";
import type { UsedIds } from "../../specs/node-state.ts";
import { memberSpec } from "../../testing/node-spec.ts";
import { diedAsPrimary, isFenced } from "./fence.ts";

const { cluster, node } = memberSpec(0);
if (cluster === undefined) throw new Error("no cluster");
const specWithPrimary = (primary: string, term = 5, replication: "asynch" | "semi_synch" = "asynch") => ({
  node,
  cluster: { ...cluster, replication, primary: { node: primary, term, reason: "fenced" as const } },
});
const other = memberSpec(1).node;
const opened: UsedIds = { opened: { term: 5, boot: "now" } };

const deaths: [string, ReturnType<typeof specWithPrimary>, UsedIds, boolean][] = [
  ["it took writes in this term", specWithPrimary(node), opened, true],
  ["it was never opened", specWithPrimary(node), {}, false],
  ["it was opened in an earlier term", specWithPrimary(node, 6), opened, false],
  ["it was stopped by its host", specWithPrimary(node), { opened: { term: 5 } }, false],
  ["its host was started since", specWithPrimary(node), { opened: { term: 5, boot: "before" } }, false],
  ["another is the primary", specWithPrimary(other), opened, false],
  ["it is a group's member", specWithPrimary(node, 5, "semi_synch"), opened, false],
];
test.each(deaths)("death of a primary: %s", (_, spec, used, expected) => {
  expect(diedAsPrimary(spec, used, "now")).toBe(expected);
});

const fences: [string, ReturnType<typeof specWithPrimary>, UsedIds, boolean][] = [
  ["in this term", specWithPrimary(node), { fenced: 5 }, true],
  ["in a later one", specWithPrimary(node), { fenced: 6 }, true],
  ["in an earlier one", specWithPrimary(node), { fenced: 4 }, false],
  ["never", specWithPrimary(node), {}, false],
  ["and another is the primary: it may be a replica", specWithPrimary(other), { fenced: 5 }, false],
];
test.each(fences)("fenced %s", (_, spec, used, expected) => {
  expect(isFenced(spec, used)).toBe(expected);
});
