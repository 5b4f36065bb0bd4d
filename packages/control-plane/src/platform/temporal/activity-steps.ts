import type { Context } from "@temporalio/activity";
import { step } from "@moorage/crash-points";
import type { ActivityInterceptorsFactory } from "@temporalio/worker";

/** Every activity is a step under its name, so that a test can kill it, repeat it or report a wrong outcome. */
export const activitySteps: ActivityInterceptorsFactory = (context: Context) => ({
  inbound: { execute: (input, next) => step(activityStep(context.info.activityType), () => next(input)) },
});

export const activityStep = (name: string): string => `worker.${name}`;
