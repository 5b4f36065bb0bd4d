import type { GroupReport, NodeReport, TaskReport } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import {
  type Change,
  type Disk,
  type KnownNode,
  reportOf,
  withDisk,
  withGroup,
  withState,
  withTasks,
} from "./known-node.ts";

const node = "11111111-1111-4111-8111-111111111111";
const task = "22222222-2222-4222-8222-222222222222";
const running: NodeReport = { node, epoch: 1, generation: 2, state: "running", percent: 100 };
const working: NodeReport = { ...running, state: "working", percent: 5 };
const older: NodeReport = { ...running, generation: 1 };
const gone: NodeReport = { ...running, state: "gone" };
const disk = (used: number, state: Disk["disk"] = "ok"): Disk => ({ used_disk_mb: used, disk: state });
const tasks = (state: TaskReport["state"], percent: number): TaskReport[] => [{ id: task, state, percent }];
const group: GroupReport = { state: "online", role: "secondary", online: 3, shared: true, backlog_seconds: 1 };
const measured: KnownNode = { state: { ...running, ...disk(100) }, disk: disk(100) };

const cases: [string, Change, Change["report"], NodeReport | undefined][] = [
  ["a first state", withState({}, running), "now", running],
  ["progress", withState({}, working), "soon", working],
  ["the same state", withState({ state: running }, running), "not", running],
  ["an older state", withState({ state: running }, older), "not", running],
  ["a state keeps the disk", withState({ disk: disk(7) }, running), "now", { ...disk(7), ...running }],
  ["a node that is gone has no disk and no group", withState({ ...measured, group }, gone), "now", gone],
  ["a disk without a state", withDisk({}, disk(7)), "not", undefined],
  ["a disk that grew a little", withDisk(measured, disk(163)), "not", { ...running, ...disk(100) }],
  ["a disk that grew noticeably", withDisk(measured, disk(164)), "soon", { ...running, ...disk(164) }],
  ["a disk of another state", withDisk(measured, disk(101, "low")), "now", { ...running, ...disk(101, "low") }],
  [
    "the progress of a task",
    withTasks({ state: running, tasks: tasks("working", 1) }, tasks("working", 2)),
    "soon",
    { ...running, tasks: tasks("working", 2) },
  ],
  [
    "the end of a task",
    withTasks({ state: running, tasks: tasks("working", 1) }, tasks("failed", 1)),
    "now",
    { ...running, tasks: tasks("failed", 1) },
  ],
  ["a removed task", withTasks({ state: running, tasks: tasks("done", 100) }, []), "soon", running],
  ["no task, as before", withTasks({ state: running }, []), "not", running],
  ["a group without a state", withGroup({}, group), "not", undefined],
  ["a first group", withGroup({ state: running }, group), "now", { ...running, group }],
  ["the same group", withGroup({ state: running, group }, { ...group }), "not", { ...running, group }],
  [
    "another backlog",
    withGroup({ state: running, group }, { ...group, backlog_seconds: 9 }),
    "soon",
    { ...running, group: { ...group, backlog_seconds: 9 } },
  ],
  [
    "another role",
    withGroup({ state: running, group }, { ...group, role: "primary" }),
    "now",
    { ...running, group: { ...group, role: "primary" } },
  ],
];
test.each(cases)("%s", (_, { known, report }, when, expected) => {
  expect(report).toBe(when);
  expect(reportOf(known)).toEqual(expected);
});
