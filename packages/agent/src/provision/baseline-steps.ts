import { takesWrites } from "../replication/member-steps.ts";
import { applySettings, baselineOf, desiredBaseline, writeBaseline } from "../mysql/baseline.ts";
import { serverStart } from "../mysql/node-sql.ts";
import type { NodeContext } from "../node/node-context.ts";
import { readNodeRecord } from "../specs/node-state.ts";
import type { Step, StepTable } from "../base/run-steps.ts";

/** By node: the server start to which this agent applied the settings, and the one that it found at its baseline. */
const configuredStarts = new Map<string, string>();
const found = new Map<string, string>();

/** The server has this release's settings and, if it takes writes, its rights, procedures and time zones. */
export async function hasBaseline(context: NodeContext): Promise<boolean> {
  const { spec, paths } = context;
  try {
    const start = await serverStart(paths.socket);
    if (configuredStarts.get(spec.node) !== start) return false;
    // A member may become the primary at any time; a single node has always been its own.
    if (spec.cluster === undefined && found.get(spec.node) === start) return true;
    if ((await takesWrites(context)) && (await baselineOf(paths.socket)) < (await desiredBaseline(context)))
      return false;
    found.set(spec.node, start);
    return true;
  } catch {
    return true; // an unreachable server cannot be configured
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
  log.info({ before, desired }, "the baseline was applied: privileges, procedures and time zones");
}

/** Runs before a new node admits its tenant. A node that did so before serves even if this fails; retried later. */
export const baselineStep: Step<NodeContext> = {
  name: "baseline",
  percent: 95,
  done: hasBaseline,
  run: async (context) => {
    const { reached } = await readNodeRecord(context.paths);
    if (reached === undefined) return bringBaseline(context);
    await bringBaseline(context).catch((err: unknown) =>
      context.log.warn({ err }, "the baseline could not be applied"),
    );
  },
};

/** For a running node, which keeps serving meanwhile. */
export const baselineSteps: StepTable<NodeContext> = {
  name: "baseline",
  steps: [{ name: "bring", percent: 100, run: bringBaseline }],
};
