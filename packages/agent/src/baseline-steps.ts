import { takesWrites } from "./cluster/takes-writes.ts";
import { applySettings, baselineOf, desiredBaseline, writeBaseline } from "./mysql/baseline.ts";
import { serverStart } from "./mysql/server-start.ts";
import type { NodeContext } from "./node-context.ts";
import { readNodeRecord } from "./node-state.ts";
import type { Step, StepTable } from "./run-steps.ts";

/** By node: the start of the server that this agent told the settings, and of the one that it found at its baseline. */
const configuredStarts = new Map<string, string>();
const found = new Map<string, string>();

/** The server has today's settings and, if it is the one to write them, today's rights, procedures and time zones. */
export async function hasBaseline(context: NodeContext): Promise<boolean> {
  const { spec, paths } = context;
  try {
    const start = await serverStart(paths.socket);
    if (configuredStarts.get(spec.node) !== start) return false;
    // A member may get the writes at any time; a single node has had them all along.
    if (spec.cluster === undefined && found.get(spec.node) === start) return true;
    if ((await takesWrites(context)) && (await baselineOf(paths.socket)) < (await desiredBaseline(context)))
      return false;
    found.set(spec.node, start);
    return true;
  } catch {
    return true; // a server that does not answer has nothing to be told
  }
}

async function bringBaseline(context: NodeContext): Promise<void> {
  const { spec, paths, log } = context;
  const start = await serverStart(paths.socket);
  await applySettings(paths.socket);
  configuredStarts.set(spec.node, start);
  if (!(await takesWrites(context))) return;
  const [before, desired] = [await baselineOf(paths.socket), await desiredBaseline(context)];
  if (before >= desired) return;
  await writeBaseline(paths.socket, context);
  log.info({ before, desired }, "rights, procedures and time zones were brought to the baseline");
}

/** Before a new node takes its tenant. One that took it before does so again even if this fails, and is tried later. */
export const baselineStep: Step = {
  name: "baseline",
  percent: 95,
  done: hasBaseline,
  run: async (context) => {
    const { reached } = await readNodeRecord(context.paths);
    if (reached === undefined) return bringBaseline(context);
    await bringBaseline(context).catch((err: unknown) =>
      context.log.warn({ err }, "the baseline could not be brought"),
    );
  },
};

/** For a node that serves, and goes on serving meanwhile. */
export const baselineSteps: StepTable = {
  name: "baseline",
  steps: [{ name: "bring", percent: 100, run: bringBaseline }],
};
