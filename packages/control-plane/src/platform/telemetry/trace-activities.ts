import { createHash } from "node:crypto";
import { context, createContextKey, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import { type IdGenerator, RandomIdGenerator } from "@opentelemetry/sdk-trace";
import type { ActivityInterceptorsFactory } from "@temporalio/worker";

const workflow = createContextKey("workflow");
const random = new RandomIdGenerator();

/**
 * The activities of a workflow form one trace on whichever workers they run, because its id is derived from the
 * workflow's. So the workflow carries no trace context: its input stays ids, and its history stays the same.
 */
export const workflowIds: IdGenerator = {
  generateTraceId() {
    const id = context.active().getValue(workflow);
    return typeof id === "string" ? traceIdOf(id) : random.generateTraceId();
  },
  generateSpanId: () => random.generateSpanId(),
};

const traceIdOf = (workflowId: string): string => createHash("sha256").update(workflowId).digest("hex").slice(0, 32);

/** Arguments, results and messages stay out of spans. */
export const traceActivities =
  (tracer: Tracer): ActivityInterceptorsFactory =>
  ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const workflowId = info.workflowExecution?.workflowId ?? "none";
        const attributes = { "temporal.workflow.id": workflowId, "temporal.activity.attempt": info.attempt };
        return context.with(context.active().setValue(workflow, workflowId), async () => {
          const span = tracer.startSpan(info.activityType, { root: true, attributes });
          try {
            return await context.with(trace.setSpan(context.active(), span), () => next(input));
          } catch (error) {
            span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : "unknown" });
            throw error;
          } finally {
            span.end();
          }
        });
      },
    },
  });
