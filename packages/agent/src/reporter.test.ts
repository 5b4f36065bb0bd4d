import { randomUUID } from "node:crypto";
import type { NodeReport, ObservedRequest, PrimaryChange } from "@moorage/contract/agent";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { createReporter } from "./reporter.ts";

const patient = { timeout: 60_000 };

test("a task stays in its node's reports when a later state of the node is set", async () => {
  const sent: ObservedRequest[] = [];
  const send = async (message: ObservedRequest) => sent.push(message);
  const reporter = createReporter({
    send,
    digest: () => [],
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
    send: async (message) => {
      sent.push(message);
      if (!acknowledges) throw new Error("away");
    },
    digest: () => [],
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
