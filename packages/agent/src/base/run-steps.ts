import { step } from "@moorage/crash-points";
import type { Logger } from "pino";

/** What running a table needs. */
export type RunContext = { superseded: () => boolean; log: Pick<Logger, "debug"> };

/**
 * One step of a table. `run` applies its whole desired state, and may be killed at any instruction and run again.
 * `percent` is the node's progress once the step is done.
 */
export type Step<C> = {
  name: string;
  percent: number;
  done?: (context: C) => Promise<boolean>;
  run: (context: C) => Promise<void>;
};
export type StepTable<C> = { name: string; steps: readonly Step<C>[] };

export const stepNames = ({ name, steps }: StepTable<never>): string[] =>
  steps.map((each) => `agent.${name}.${each.name}`);

export class StepFailed extends Error {
  override readonly name = "StepFailed";
  readonly table: string;
  readonly step: string;
  readonly percent: number;
  constructor(table: string, name: string, percent: number, cause: unknown) {
    super(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.table = table;
    this.step = name;
    this.percent = percent;
  }
}

export async function runSteps<C extends RunContext>(
  table: StepTable<C>,
  context: C,
  progress: (step: string, percent: number) => void,
): Promise<"finished" | "superseded"> {
  let percent = 0;
  for (const each of table.steps) {
    if (context.superseded()) return "superseded";
    progress(each.name, percent);
    const started = performance.now();
    try {
      await step(`agent.${table.name}.${each.name}`, async () => {
        if (!(await each.done?.(context))) await each.run(context);
      });
    } catch (error) {
      throw new StepFailed(table.name, each.name, percent, error);
    }
    percent = each.percent;
    context.log.debug({ table: table.name, step: each.name, ms: Math.round(performance.now() - started) }, "step");
  }
  return context.superseded() ? "superseded" : "finished";
}
