import { randomBytes } from "node:crypto";
import type { TaskReport, NodeSpec, UploadsReply } from "@moorage/contract/agent";
import { sha256 } from "#platform/sha256.ts";
import type { Gateway, Identity } from "./gateway.ts";

type Task = NonNullable<NodeSpec["tasks"]>[number];

/** Performs a task as an agent would, with the real calls: it stores and reports random data. */
export async function simulateTask(gateway: Gateway, host: Identity, spec: NodeSpec, task: Task): Promise<TaskReport> {
  const done: TaskReport = { id: task.id, state: "done", percent: 100 };
  const timeline = spec.data?.timeline;
  if (timeline === undefined) return { ...done, state: "failed", message: "there is no archive" };
  const term = spec.cluster?.primary && { term: spec.cluster.primary.term };
  const now = gateway.clock().toISOString();
  const reportArchived = async (change: object): Promise<TaskReport> => {
    const { status, body } = await gateway.post(host, "/v1/archived", {
      nodes: [{ node: spec.node, timeline, ...term, ...change }],
    });
    return status === 200 ? done : { ...done, state: "failed", message: JSON.stringify(body) };
  };
  if (task.kind === "ship") return reportArchived({ through: now });

  const part = randomBytes(2_500_000);
  const manifest = Buffer.from(JSON.stringify({ id: task.id, parts: [{ sha256: sha256(part).toString("hex") }] }));
  const names = [`copies/${task.id}/part-000001`, `copies/${task.id}/manifest.json`];
  const { body } = await gateway.post<UploadsReply>(host, "/v1/uploads", { node: spec.node, timeline, names });
  for (const [index, url] of body.urls.entries()) {
    const reply = await fetch(url, { method: "PUT", body: index === 0 ? part : manifest });
    if (!reply.ok) return { ...done, state: "failed", message: `the object store answered ${reply.status}` };
  }
  const copy = { id: task.id, started_at: now, ended_at: now, gtid: "", bytes: part.length, parts: 1 };
  return reportArchived({ copies: [{ ...copy, manifest_sha256: sha256(manifest).toString("hex") }] });
}
