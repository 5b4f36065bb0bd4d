import { Client, type WorkflowClientInterceptor } from "@temporalio/client";
import { Counter, Histogram, type Registry } from "prom-client";

/** A client that counts the workflows it starts. Restarts are workflows that the sweeper found lost. */
export function countStarts(registry: Registry, { connection, options }: Client): Client {
  const registers = [registry];
  const started = new Counter({
    name: "moorage_workflows_started_total",
    help: "Workflows started; `again` are those that the sweeper found lost.",
    labelNames: ["kind", "run"],
    registers,
  });
  const seconds = new Histogram({
    name: "moorage_workflow_start_seconds",
    help: "How long Temporal took to accept a start, or to refuse it.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers,
  });
  const interceptor: WorkflowClientInterceptor = {
    async startWithDetails(input, next) {
      const end = seconds.startTimer();
      const reply = await next(input).finally(end);
      const run = /-r\d+$/.test(input.options.workflowId) ? "again" : "first";
      started.inc({ kind: input.workflowType, run });
      return reply;
    },
  };
  return new Client({ connection, namespace: options.namespace, interceptors: { workflow: [interceptor] } });
}
