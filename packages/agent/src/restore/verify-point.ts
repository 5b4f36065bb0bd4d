import { PROTOCOL, type VerifiedRequest } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import { updateTimeline } from "../specs/node-state.ts";
import { ensureEngine } from "../provision/provision-steps.ts";
import { runSteps, StepFailed, type StepTable } from "../base/run-steps.ts";
import { type Checks, checkTables, TableBroken } from "./check-tables.ts";
import { BrokenArchive, readObject } from "./fetch-object.ts";
import { beginAfresh, fetchBase, type MakeContext, replayLogs } from "./make-data.ts";
import { ReplayRefused } from "./replay-client.ts";
import { ServerFailed, stopServer } from "./throw-away-server.ts";
import { clearWorkplace } from "./workplace.ts";

export type VerifyContext = MakeContext & {
  agentVersion: string;
  report: (message: VerifiedRequest) => Promise<unknown>;
  /** Filled by the steps. */
  found: { checks?: Checks; scrubbed: number };
};

/** Restores the newest point into a server that nobody can reach and that is thrown away afterwards. */
export const verifySteps: StepTable<VerifyContext> = {
  name: "verify",
  steps: [
    { name: "engine", percent: 2, run: ensureEngine },
    { name: "volume", percent: 5, run: beginAfresh },
    { name: "fetch", percent: 30, run: fetchBase },
    { name: "replay", percent: 60, run: replayLogs },
    { name: "check", percent: 80, run: check },
    { name: "scrub", percent: 100, run: scrub },
  ],
};
export const reportVerifiedStep = "agent.verify.report";

async function check(context: VerifyContext): Promise<void> {
  context.found.checks = await checkTables(context.work.socket, context.signal);
  await stopServer(context, context.work);
}

/** Reads every byte of the other backups, to find bit rot while intact ones remain. */
async function scrub({ source, signal, found }: VerifyContext): Promise<void> {
  const { scrub: others = [] } = await source.get();
  found.scrubbed = 0;
  for (const [index, part] of others.entries()) {
    const url = async (): Promise<string> => (await source.get()).scrub?.[index]?.url ?? part.url;
    const name = decodeURIComponent(new URL(part.url).pathname.split("/").slice(-3).join("/"));
    for await (const _ of readObject({ ...part, name, url, renew: source.renew }, signal));
    found.scrubbed += 1;
  }
}

/** Reports the result. Throws when there is none: the store, the gateway or this host prevented the verification. */
export async function verifyPoint(context: VerifyContext): Promise<void> {
  const { spec, paths, source, signal, clock, log, work, podman, agentVersion, report } = context;
  const { node, data, engine } = spec;
  if (data === undefined) return;
  const { point } = await source.get();
  let fault: string | undefined;
  try {
    if ((await runSteps(verifySteps, context, () => {})) === "superseded") return;
  } catch (error) {
    signal.throwIfAborted();
    fault = faultOf(error);
    if (fault === undefined) throw error;
    log.error({ err: error }, "the verification of a restore point failed");
  } finally {
    await clearWorkplace(podman, work);
  }
  const { checks, scrubbed } = context.found;
  const ok = fault === undefined;
  const checked = `${checks?.tables ?? 0} tables with ${checks?.rows ?? 0} rows were restored and checked`;
  const message = (fault ?? `${checked}, and ${scrubbed} objects of other backups were read.`).slice(0, 1000);
  await step(reportVerifiedStep, async () => {
    await report({ protocol: PROTOCOL, node, timeline: data.timeline, point, ok, message });
    await updateTimeline(paths, {
      verified: { at: clock().toISOString(), ok, image: engine.image, agent: agentVersion },
    });
  });
  log.info({ ok, message }, "verification of a restore point reported");
}

/** The fault of the archive; undefined for errors with another cause. */
function faultOf(error: unknown): string | undefined {
  const cause = error instanceof StepFailed ? error.cause : error;
  const faults = [BrokenArchive, ReplayRefused, ServerFailed, TableBroken];
  return faults.some((fault) => cause instanceof fault) ? (cause as Error).message : undefined;
}
