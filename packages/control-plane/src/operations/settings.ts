import { z } from "zod";
import { Listen, Positive } from "#platform/settings.ts";

export const workerSettings = {
  MOORAGE_WORKER_LISTEN: Listen.prefault("127.0.0.1:18092").describe(
    "Where `worker` serves its health, its metrics and notifications of the image stores. Keep it private.",
  ),
  MOORAGE_SWEEP_SECONDS: Positive.default(10).describe(
    "How often `worker` looks for work that is due or was interrupted, in seconds.",
  ),
  MOORAGE_WORKFLOW_BUNDLE: z
    .string()
    .optional()
    .describe(
      "The file of workflows that `bin/bundle-workflows.ts` wrote; without it `worker` bundles them when it starts, which takes seconds.",
    ),
};
