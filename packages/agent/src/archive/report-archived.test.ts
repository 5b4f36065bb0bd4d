import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ArchivedLog, type ArchivedRequest, type Cluster, PROTOCOL } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hostPaths } from "../base/host-paths.ts";
import { memberSpec } from "../testing/node-spec.ts";
import { type ArchivedNode, archivedNode, readArchiveState, updateArchiveState } from "./archived-node.ts";
import { type ReportArchivedDeps, reportArchived, termOf } from "./report-archived.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "moor-tell-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const clock = (): Date => new Date("2026-01-02T03:04:05Z");
/** A member whose spec has a primary of this term. */
function member(term: number): ArchivedNode {
  const { cluster, ...spec } = memberSpec(1);
  const withPrimary: Cluster = { ...(cluster as Cluster), primary: { node: spec.node, term, reason: "fenced" } };
  const timeline = withPrimary.group;
  const archive = { recipient: "age1", log_seconds: 60, copy_hours: { from: 0, to: 24 }, verify_days: 7 };
  const known = { ...spec, cluster: withPrimary, archive, data: { timeline, ordinal: 0, origin: "prepared" as const } };
  return archivedNode(hostPaths(dir), known) as ArchivedNode;
}
const log = (number: number): ArchivedLog => ({
  name: `binlog.00000${number}.0123456789abcdef`,
  sequence: number,
  closed_at: clock().toISOString(),
  previous: "",
  gtid: "",
  bytes: 1,
  sha256: "a".repeat(64),
});
const shipped = (node: ArchivedNode, number: number) =>
  updateArchiveState(node, clock(), ({ unreported }) => ({
    unreported: { ...unreported, logs: [...unreported.logs, { ...log(number), ...termOf(node) }] },
  }));

test("logs of an earlier term, which may be lost since, are not reported in a later one", async () => {
  const [before, now] = [member(1), member(2)];
  await mkdir(before.paths.folder, { recursive: true });
  await shipped(before, 1);
  const reported: ArchivedRequest[] = [];
  const archived: ReportArchivedDeps["archived"] = async (each) => {
    reported.push(each);
    return { protocol: PROTOCOL };
  };
  const report = (node: ArchivedNode) =>
    reportArchived({ clock, archived }, node, { at: undefined }, new AbortController().signal);

  await report(now);
  expect(reported).toEqual([]);
  await shipped(now, 2);
  await report(now);

  const { node } = now.spec;
  expect(reported.flatMap(({ nodes }) => nodes)).toMatchObject([{ node, term: 2, logs: [log(2)] }]);
  expect((await readArchiveState(now, clock())).unreported.logs).toEqual([]);
});
