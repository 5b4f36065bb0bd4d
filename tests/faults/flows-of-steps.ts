import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Which flows pass which steps, as last recorded by `pnpm test:faults --only trace` on a running stack: tracing all
 * flows takes longer than the whole short form.
 */
const file = join(import.meta.dirname, "flows-of-steps.json");

export const readFlowsOfSteps = (): Record<string, string[]> =>
  JSON.parse(readFileSync(file, "utf8")) as Record<string, string[]>;

/** Replaces what was recorded for this flow. */
export function writeFlowsOfSteps(flow: string, steps: readonly string[]): void {
  const before = Object.entries(readFlowsOfSteps()).map(([step, flows]) => ({
    step,
    flows: flows.filter((each) => each !== flow),
  }));
  const known = new Map(before.map(({ step, flows }) => [step, flows]));
  for (const step of steps) known.set(step, [...(known.get(step) ?? []), flow].toSorted());
  const kept = [...known].filter(([, flows]) => flows.length > 0).toSorted(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}
