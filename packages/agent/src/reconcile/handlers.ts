import { mkdir } from "node:fs/promises";
import { isNewer } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import { firewallSteps, isFirewallApplied } from "../access/firewall-steps.ts";
import { GatewayAway, Held, NotYet, quietMs } from "../base/try-again.ts";
import { runSteps, StepFailed, type StepTable } from "../base/run-steps.ts";
import type { Reporter } from "../gateway/reporter.ts";
import { CannotHeal } from "../node/podman.ts";
import { renewSteps } from "../node/node-certificate.ts";
import { neverHadData, usedDiskMb } from "../node/volume.ts";
import { baselineSteps } from "../provision/baseline-steps.ts";
import { groupSteps } from "../provision/group-steps.ts";
import { provisionSteps, readyStep, waitUntilReady } from "../provision/provision-steps.ts";
import { readNodeRecord, updateNodeRecord, updateTimeline } from "../specs/node-state.ts";
import type { Decision } from "./decide.ts";
import { discardSteps, tombstoneSteps } from "./tombstone-steps.ts";
import { nextReport, type ReportEvent } from "./next-report.ts";
import { failureVerdict, nextAttempt, type NodeRun, type Outcome } from "./node-run.ts";
import { powerOffSteps } from "./power-off-steps.ts";
import type { StepContext } from "./step-context.ts";

export type HandlerContext = StepContext & {
  reporter: Pick<Reporter, "set" | "get">;
  run: NodeRun;
  wake: () => void;
  wakeLater: (ms: number) => void;
};

type Handler<Kind> = (context: HandlerContext, decision: Extract<Decision, { kind: Kind }>) => Promise<void>;

export const reachedStep = "agent.reached";

/** Renewal starts with a month left: an unreachable or busy gateway need not be asked often. */
const renewAgainMs = 600_000;
const baselineAgainMs = 60_000;
const soonestMs = 100;

const handlers: { [Kind in Decision["kind"]]: Handler<Kind> } = {
  nothing: (context) => running(context),
  provision,
  group: (context) => serve(context, groupSteps),
  firewall: (context) => serve(context, firewallSteps),
  baseline: bringBaseline,
  renew,
  discard,
  "power-off": powerOff,
  rest: resting,
  bury,
};

/** Does what was decided for the node, and reports it. */
export const handle = (context: HandlerContext, decision: Decision): Promise<void> =>
  (handlers[decision.kind] as Handler<Decision["kind"]>)(context, decision);

export function report({ reporter, run }: Pick<HandlerContext, "reporter" | "run">, event: ReportEvent): void {
  const next = nextReport(run, reporter.get(run.spec.node), event);
  if (next !== undefined) reporter.set(next);
}

const progressOf = (context: HandlerContext) => (name: string, percent: number) =>
  report(context, { kind: "progress", step: name, percent });

/** Returns how long the next attempt has to wait. */
export function recordOutcome({ run }: Pick<HandlerContext, "run">, outcome: Outcome): number {
  const { attempts, waitMs } = nextAttempt(run.attempts, outcome, performance.now());
  run.attempts = attempts;
  return waitMs;
}

async function provision(context: HandlerContext, { because }: { because: string[] }): Promise<void> {
  const { run, spec, log, wake, wakeLater } = context;
  log.info({ because, attempt: run.attempts.attempt }, "provisioning");
  run.isProvisioning = false;
  const waitMs = recordOutcome(context, "down");
  if (waitMs > 0) return wakeLater(waitMs);
  const outcome = await runSteps(provisionSteps, context, progressOf(context));
  if (outcome !== "finished") return;
  await running(context);
  // It serves on its desired timeline now, so others may have to be discarded.
  if (spec.data !== undefined) wake();
}

/** Runs a table that leaves the node as desired. */
async function serve(context: HandlerContext, table: StepTable<StepContext>): Promise<void> {
  const outcome = await runSteps(table, context, progressOf(context));
  if (outcome === "finished") await running(context);
}

/** An interrupted run may have started it: the server runs, and may not answer yet. */
async function ensureReady(context: HandlerContext): Promise<void> {
  if (context.run.attempts.runningSince === undefined) await waitUntilReady(context);
}

async function running(context: HandlerContext, held?: string): Promise<void> {
  const { run, spec, paths, reporter, log } = context;
  await ensureReady(context);
  const used = await usedDiskMb(paths);
  if (reporter.get(spec.node)?.state !== "running") log.info("running");
  recordOutcome(context, "running");
  run.isWaiting = false;
  await recordReached(context);
  report(context, { kind: "running", usedDiskMb: used, held });
}

async function powerOff(context: HandlerContext): Promise<void> {
  const outcome = await runSteps(powerOffSteps, context, progressOf(context));
  if (outcome === "finished") await resting(context);
}

async function resting(context: HandlerContext): Promise<void> {
  const { spec, paths, reporter, log } = context;
  const used = await usedDiskMb(paths);
  if (reporter.get(spec.node)?.state !== "stopped") log.info("stopped");
  recordOutcome(context, "resting");
  await recordReached(context);
  report(context, { kind: "stopped", usedDiskMb: used });
}

/** Distinguishes a failed change from a node that failed without one, also after a restart of the agent. */
async function recordReached({ spec: { epoch, generation, data }, paths }: HandlerContext): Promise<void> {
  const { reached } = await readNodeRecord(paths);
  if (reached !== undefined && !isNewer({ epoch, generation }, reached)) return;
  await step(reachedStep, async () => {
    await mkdir(paths.folder, { recursive: true });
    await updateNodeRecord(paths, { reached: { epoch, generation } });
    if (data !== undefined) await updateTimeline(paths, { id: data.timeline });
  });
}

async function bringBaseline(context: HandlerContext): Promise<void> {
  const { run } = context;
  await running(context);
  if (performance.now() < run.baselineAfter) return;
  run.baselineAfter = performance.now() + baselineAgainMs;
  await maintain(context, baselineSteps, { failed: "the baseline could not be applied" });
}

async function renew(context: HandlerContext): Promise<void> {
  const { run } = context;
  await running(context);
  if (performance.now() < run.renewAfter) return;
  run.renewAfter = performance.now() + renewAgainMs;
  const failed = "the certificate could not be renewed";
  await maintain(context, renewSteps, { done: "certificate renewed", failed });
}

/** What is held is tried again with each check of all nodes. */
async function discard(context: HandlerContext): Promise<void> {
  await ensureReady(context);
  const failed = "earlier timelines could not be discarded";
  const error = await maintain(context, discardSteps, { done: "earlier timelines were moved to the trash", failed });
  if (error instanceof Held) logHeld(context, error.message);
  await running(context, error instanceof Held ? error.message : undefined);
}

/** For a node that serves, whether this succeeds or not. Returns what went wrong. */
async function maintain(
  context: HandlerContext,
  table: StepTable<StepContext>,
  { done, failed }: { done?: string; failed: string },
): Promise<unknown> {
  try {
    await runSteps(table, context, () => {});
    if (done !== undefined) context.log.info(done);
    return undefined;
  } catch (error) {
    const cause = causeOf(error);
    if (!(cause instanceof Held)) context.log.warn({ error: String(error) }, failed);
    return cause;
  }
}

/** Once, however often it is tried again. */
function logHeld({ reporter, spec, log }: HandlerContext, message: string): void {
  if (reporter.get(spec.node)?.message !== message) log.warn({ message }, "held by the limit of deletions");
}

async function bury(context: HandlerContext, { guarded }: { guarded: boolean }): Promise<void> {
  const { spec, admitDeletion, clock, wakeLater } = context;
  const admission = guarded ? await admitDeletion({ node: spec.node, kind: "node" }) : undefined;
  if (admission?.kind === "held") {
    const { message, retryAt } = admission;
    logHeld(context, message);
    report(context, { kind: "held", message });
    return wakeLater(Math.max(soonestMs, retryAt.getTime() - clock().getTime()));
  }
  await runSteps(tombstoneSteps, context, progressOf(context));
}

/** The server belongs to the clone: nothing else of the node is touched. */
export async function serveWhileCloning(context: HandlerContext, waitsFor: string): Promise<void> {
  const { run, wakeLater } = context;
  run.isWaiting = true;
  report(context, {
    kind: "waiting",
    message: `Waiting for ${waitsFor}.`,
    at: { step: "group", percent: clonedPercent },
  });
  await keepFirewall(context);
  wakeLater(quietMs);
}

/** `isReported`: for so long that the tenant is told. */
export async function serveWhileSilent(context: HandlerContext, isReported: boolean): Promise<void> {
  if (isReported) report(context, { kind: "unresponsive" });
  await keepFirewall(context);
}

/** It needs no server. */
async function keepFirewall(context: HandlerContext): Promise<void> {
  if (!(await isFirewallApplied(context)))
    await maintain(context, firewallSteps, { failed: "the firewall could not be changed" });
}

/** The progress of a member before the step `group`. */
const clonedPercent = 93;

const causeOf = (error: unknown): unknown => (error instanceof StepFailed ? error.cause : error);

/** Not a failure: something that goes on without a run has not ended. */
export const isWaiting = (error: unknown): boolean => causeOf(error) instanceof NotYet;

const isReadyStep = ({ table, step: name }: StepFailed): boolean => table === provisionSteps.name && name === readyStep;

/** A run ended with an error: the node waits for another member, or it failed and is retried. */
export async function handleError(context: HandlerContext, error: unknown): Promise<void> {
  const { run, spec, paths, wakeLater, log } = context;
  const cause = causeOf(error);
  run.isProvisioning = cause instanceof NotYet && error instanceof StepFailed && isReadyStep(error);
  const at = error instanceof StepFailed ? { step: error.step, percent: error.percent } : { percent: 0 };
  if (cause instanceof NotYet) {
    log.debug({ ...at, message: cause.message }, "waiting");
    run.isWaiting = true;
    const kind = cause instanceof Held ? "held" : "waiting";
    if (kind === "held") logHeld(context, cause.message);
    report(context, { kind, message: cause.message, at });
    return wakeLater(cause.againMs);
  }
  const message = error instanceof Error ? error.message : String(error);
  const { attempt } = run.attempts;
  log.warn({ err: error, attempt }, "step failed");
  const { reached } = await readNodeRecord(paths);
  const verdict = failureVerdict({
    attempt,
    table: error instanceof StepFailed ? error.table : undefined,
    tombstone: spec.tombstone !== undefined,
    cannotHeal: cannotHeal(cause),
    gatewayAway: cause instanceof GatewayAway,
    neverHadData: await neverHadData(paths),
    changing: reached !== undefined && isNewer(spec, reached),
  });
  report(context, { kind: "failed", message, at, verdict });
  const waitMs = recordOutcome(context, verdict === "give up" ? "gave up" : "failed");
  if (verdict !== "give up") wakeLater(waitMs);
}

const cannotHeal = (cause: unknown): boolean =>
  cause instanceof CannotHeal || (cause instanceof Error && /ENOSPC|No space left on device/.test(cause.message));
