import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ArchivedLog, type ArchivedRequest, type Cluster, PROTOCOL } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hostPaths } from "../host-paths.ts";
import { memberSpec } from "../testing/node-spec.ts";
import { type ArchivedNode, archivedNode, readArchiveState, updateArchiveState } from "./archived-node.ts";
import { type TellDeps, tellArchived, termOf } from "./tell-archived.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "moor-tell-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const clock = (): Date => new Date("2026-01-02T03:04:05Z");
/** The host knows this leader's term. */
function member(term: number): ArchivedNode {
  const { cluster, ...spec } = memberSpec(1);
  const led: Cluster = { ...(cluster as Cluster), leader: { node: spec.node, term, over: "fence" } };
  const timeline = led.group;
  const archive = { recipient: "age1", log_seconds: 60, copy_hours: { from: 0, to: 24 }, verify_days: 7 };
  const known = { ...spec, cluster: led, archive, data: { timeline, ordinal: 0, origin: "prepared" as const } };
  return archivedNode(hostPaths(dir), known) as ArchivedNode;
}
const log = (number: number): ArchivedLog => ({
  ...{ name: `binlog.00000${number}.0123456789abcdef`, sequence: number, closed_at: clock().toISOString() },
  ...{ previous: "", gtid: "", bytes: 1, sha256: "a".repeat(64) },
});
const shipped = (node: ArchivedNode, number: number) =>
  updateArchiveState(node, clock(), ({ untold }) => ({
    untold: { ...untold, logs: [...untold.logs, { ...log(number), ...termOf(node) }] },
  }));

test("what a member made in an earlier term it does not tell in a later one: that may be lost since", async () => {
  const [before, now] = [member(1), member(2)];
  await mkdir(before.paths.folder, { recursive: true });
  await shipped(before, 1);
  const told: ArchivedRequest[] = [];
  const archived: TellDeps["archived"] = async (each) => {
    told.push(each);
    return { protocol: PROTOCOL };
  };
  const tell = (node: ArchivedNode) =>
    tellArchived({ clock, archived }, node, { at: undefined }, new AbortController().signal);

  await tell(now);
  expect(told).toEqual([]);
  await shipped(now, 2);
  await tell(now);

  const { node } = now.spec;
  expect(told.flatMap(({ nodes }) => nodes)).toMatchObject([{ node, term: 2, logs: [log(2)] }]);
  expect((await readArchiveState(now, clock())).untold.logs).toEqual([]);
});
