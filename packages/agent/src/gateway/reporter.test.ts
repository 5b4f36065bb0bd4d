import { randomUUID } from "node:crypto";
import type { NodeReport, ObservedRequest, PrimaryChange } from "@moorage/contract/agent";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { testSpec } from "../testing/node-spec.ts";
import { createReporter } from "./reporter.ts";

const patient = { timeout: 60_000 };

test("a task stays in its node's reports when a later state of the node is set", async () => {
  const sent: ObservedRequest[] = [];
  const send = async (message: ObservedRequest) => sent.push(message);
  const reporter = createReporter({
    start: 1,
    send,
    digest: () => [],
    specOf: () => undefined,
    unknown: async () => [],
    changes: { read: async () => [], remove: async () => {} },
    log: pino({ level: "silent" }),
  });
  const node: NodeReport = { node: randomUUID(), epoch: 1, generation: 1, state: "running", percent: 100 };
  const task = { id: randomUUID(), state: "done", percent: 100 } as const;
  reporter.set(node);
  reporter.setTasks(node.node, [task]);
  void reporter.start();
  reporter.set({ ...node, generation: 2 });
  await vi.waitFor(() => expect(sent.at(-1)?.nodes).toEqual([{ ...node, generation: 2, tasks: [task] }]), patient);
  expect(reporter.get(node.node)?.tasks).toEqual([task]);
  reporter.setTasks(node.node, []);
  await vi.waitFor(() => expect(sent.at(-1)?.nodes).toEqual([{ ...node, generation: 2 }]), patient);
  await reporter.close();
});

test("a change of primary is sent until it is acknowledged, and then no more", async () => {
  const [written, sent]: [PrimaryChange[], ObservedRequest[]] = [[], []];
  let acknowledges = false;
  const reporter = createReporter({
    start: 1,
    send: async (message) => {
      sent.push(message);
      if (!acknowledges) throw new Error("away");
    },
    digest: () => [],
    specOf: () => undefined,
    unknown: async () => [],
    changes: { read: async () => [...written], remove: async (reported) => void written.splice(0, reported.length) },
    log: pino({ level: "silent" }),
  });
  void reporter.start();
  const [node, group] = [randomUUID(), randomUUID()];
  written.push({ node, group, view: "1:4", to: node, at: new Date().toISOString(), phases: { led: 6000 } });
  await vi.waitFor(() => expect(sent.at(-1)?.changes).toHaveLength(1), patient);
  acknowledges = true;
  await vi.waitFor(() => expect(written).toEqual([]), patient);
  expect(sent.at(-1)?.changes).toHaveLength(1);
  await reporter.close();
});

test("each request has the number of the agent's start, and a higher count than the one before", async () => {
  const sent: ObservedRequest[] = [];
  const reporter = createReporter({
    start: 7,
    send: async (message) => {
      sent.push(message);
      if (sent.length === 1) throw new Error("away");
    },
    digest: () => [],
    specOf: () => undefined,
    unknown: async () => [],
    changes: { read: async () => [], remove: async () => {} },
    log: pino({ level: "silent" }),
  });
  reporter.set({ node: randomUUID(), epoch: 1, generation: 1, state: "running", percent: 100 });
  void reporter.start();
  await vi.waitFor(() => expect(sent).toHaveLength(2), patient);
  await reporter.close();
  expect(sent.map(({ sequence }) => sequence)).toEqual([
    { start: 7, count: 1 },
    { start: 7, count: 2 },
  ]);
});

test("a report has the seal of the spec, if it is of the same generation", async () => {
  const sent: ObservedRequest[] = [];
  const spec = testSpec({ epoch: 1, generation: 2, seal: "of generation 2" });
  const reporter = createReporter({
    start: 1,
    send: async (message) => sent.push(message),
    digest: () => [],
    specOf: () => spec,
    unknown: async () => [],
    changes: { read: async () => [], remove: async () => {} },
    log: pino({ level: "silent" }),
  });
  const node: NodeReport = { node: spec.node, epoch: 1, generation: 1, state: "running", percent: 100 };
  reporter.set(node);
  void reporter.start();
  await vi.waitFor(() => expect(sent.at(-1)?.nodes).toEqual([node]), patient);
  reporter.set({ ...node, generation: 2 });
  await vi.waitFor(() => expect(sent.at(-1)?.nodes).toEqual([{ ...node, generation: 2, seal: spec.seal }]), patient);
  await reporter.close();
});
