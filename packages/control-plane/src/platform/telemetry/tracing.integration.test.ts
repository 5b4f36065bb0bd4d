import { startRecordingCollector } from "@moorage/testkit/recording-collector.ts";
import type { Context } from "@temporalio/activity";
import { expect, test } from "vitest";
import { createServer } from "#platform/http/server.ts";
import { createLog } from "#platform/log.ts";
import { startTracing } from "./tracing.ts";

const log = createLog("test", "silent");
const traceId = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

test.each([
  ["one of ours", true],
  ["a stranger", false],
])("the trace of a caller that is %s continues here: %s", async (_caller, continues) => {
  await using collector = await startRecordingCollector();
  const tracing = await startTracing("fleet", { endpoint: collector.url, share: 1 }, log);
  const app = createServer(log);
  app.post("/v1/desired", async () => ({}));
  tracing?.watch(app, { continues });
  await app.inject({ method: "POST", url: "/v1/desired", headers: { traceparent }, payload: {} });
  await app.close();
  await tracing?.close();

  const [span] = collector.spans();
  expect(span?.name).toBe("POST /v1/desired");
  expect(span?.traceId === traceId).toBe(continues);
  expect(span?.parentSpanId === "b7ad6b7169203331").toBe(continues);
});

test("the activities of a workflow form one trace, on whichever workers they run", async () => {
  await using collector = await startRecordingCollector();
  const runOnNewWorker = async (workflowId: string, activityType: string, fails: boolean) => {
    const tracing = await startTracing("worker", { endpoint: collector.url, share: 1 }, log);
    const info = { workflowExecution: { workflowId }, activityType, attempt: 1 };
    const { inbound } = tracing?.activities({ info } as unknown as Context) ?? {};
    await inbound
      ?.execute?.({ args: ["an argument"], headers: {} }, async () => {
        if (fails) throw new TypeError("a message");
        return "a result";
      })
      .catch(() => {});
    await tracing?.close();
  };
  await runOnNewWorker("op-1", "want", false);
  await runOnNewWorker("op-1", "settle", true);
  await runOnNewWorker("op-2", "want", false);

  const [first, second, other] = collector.spans();
  expect(first).toMatchObject({ name: "want", attributes: { "temporal.workflow.id": "op-1" } });
  expect(second).toMatchObject({ name: "settle", traceId: first?.traceId });
  expect(other?.traceId).not.toBe(first?.traceId);
  expect(collector.text()).not.toMatch(/an argument|a result|a message/);
});
