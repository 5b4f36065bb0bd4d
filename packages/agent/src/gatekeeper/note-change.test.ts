import type { Views } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { type Note, noteChange } from "./note-change.ts";

const cluster = {
  node: "c",
  group: "g",
  members: ["a", "b", "c"].map((node, ordinal) => ({
    node,
    ordinal,
    host: `host-${ordinal}`,
    address: `10.0.0.${ordinal}`,
  })),
};
/** All of `online` in one view whose primary is `primary`. */
const group = (primary: string, view: string, online: string[], gtid = "u:1-5"): Views =>
  online.map((node) => ({
    node,
    ageMs: 100,
    state: "online",
    role: node === primary ? "primary" : "secondary",
    view,
    primary,
    online,
    writable: node === primary,
    gtid,
  }));
const everybody = ["a", "b", "c"];

function observe(...seen: [at: number, views: Views][]) {
  let note: Note | undefined;
  const changes = seen.flatMap(([at, views]) => {
    const next = noteChange(cluster, note, views, at);
    note = next.note;
    return next.change ?? [];
  });
  return { note, changes };
}

test("the first primary of a group, or one that was missed for a moment, is not a change", () => {
  expect(
    observe([0, []], [10, group("a", "v:1", everybody)], [20, []], [30, group("a", "v:2", everybody)]).changes,
  ).toEqual([]);
});

test("a failover is recorded with the time from the old primary's last health to each phase", () => {
  const [b, c] = group("a", "v:3", everybody).slice(1);
  if (b === undefined || c === undefined) throw new Error("three");
  const { changes } = observe(
    [1000, group("a", "v:3", everybody)],
    [2000, group("a", "v:3", everybody, "u:1-9")],
    [2600, [b, c]],
    [7000, group("b", "v:4", ["b", "c"], "u:1-9").filter(({ node }) => node === "c")],
    [7400, group("b", "v:4", ["b", "c"], "u:1-10")],
    [7500, group("b", "v:4", ["b", "c"], "u:1-11")],
  );
  expect(changes).toEqual([
    {
      node: "c",
      group: "g",
      view: "v:4",
      from: "a",
      to: "b",
      at: new Date(7400).toISOString(),
      phases: { missed: 600, elected: 5000, led: 5400 },
      gtid_before: "u:1-9",
      gtid_after: "u:1-10",
    },
  ]);
});

test("switchovers back and forth within one view are distinguished", () => {
  const { changes } = observe(
    [0, group("a", "v:3", everybody)],
    [10, group("b", "v:3", everybody)],
    [20, group("a", "v:3", everybody)],
    [30, group("b", "v:3", everybody)],
    [40, group("b", "v:4", everybody)],
    [50, group("a", "v:4", everybody)],
  );
  expect(changes.map(({ view, to }) => `${view} ${to}`)).toEqual(["v:3#1 b", "v:3#2 a", "v:3#3 b", "v:4#1 a"]);
});

test("a new group of the same members, after a restore, starts afresh", () => {
  const { note } = observe([0, group("a", "v:3", everybody)]);
  const next = noteChange({ ...cluster, group: "h" }, note, group("b", "w:1", everybody), 10);
  expect(next.change).toBeUndefined();
  expect(next.note).toMatchObject({ group: "h", primary: "b", changes: 0 });
});
