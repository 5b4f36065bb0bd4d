import type { NodeSpec, VerifiedRequest } from "@moorage/contract/agent";
import { GatewayRefused } from "../gateway/gateway.ts";
import { nodePaths } from "../base/host-paths.ts";
import { nodeContext, type NodeDeps } from "../node/node-context.ts";
import { type LastVerification, timelineRecord } from "../specs/node-state.ts";
import { ordinalOf } from "../node/timelines.ts";
import type { RestoreDeps } from "./make-data.ts";
import { recipeSource } from "./fetch-object.ts";
import { verifyPoint } from "./verify-point.ts";
import { endServerWith, workplace } from "./workplace.ts";

export type VerificationDeps = NodeDeps &
  RestoreDeps & {
    agentVersion: string;
    reportVerified: (message: VerifiedRequest) => Promise<unknown>;
  };

/** A database that is a few hours old has no restore point yet. */
const retryMs = 3_600_000;

/** Called by the host's schedule, which runs one heavy work at a time. */
export function createVerification(deps: VerificationDeps) {
  const notBefore = new Map<string, number>();
  return {
    async isDue(spec: NodeSpec): Promise<boolean> {
      const now = deps.clock();
      if (now.getTime() < (notBefore.get(spec.node) ?? 0)) return false;
      const { verified } = await timelineRecord(nodePaths(deps.host, spec.node, ordinalOf(spec)));
      return dueVerification(now, verified, spec, deps.agentVersion);
    },
    async run(spec: NodeSpec, signal: AbortSignal): Promise<void> {
      const log = deps.log.child({ node: spec.node });
      const source = recipeSource(() => deps.recipeFor(spec.node, "verify"));
      try {
        await source.get();
      } catch (error) {
        if (!(error instanceof GatewayRefused)) throw error;
        notBefore.set(spec.node, deps.clock().getTime() + retryMs);
        return log.info({ error: error.message }, "there is no restore point to verify");
      }
      notBefore.delete(spec.node);
      const work = workplace(deps.host, spec.node, "verify");
      endServerWith(signal, deps.podman, work);
      await verifyPoint({
        ...nodeContext({ ...deps, log }, spec, () => signal.aborted),
        work,
        source,
        signal,
        progress: () => {},
        agentVersion: deps.agentVersion,
        report: deps.reportVerified,
        found: { scrubbed: 0 },
      });
    },
  };
}

const dayMs = 24 * 3_600_000;
/** Seven daily backups are kept: with one verified every six days, the last verified one is among the seven newest. */
const longestDays = 6;

/** Every few days, and after a change of the server's image or the agent, which could change the outcome. */
export function dueVerification(
  now: Date,
  last: LastVerification | undefined,
  { archive, engine }: Pick<NodeSpec, "archive" | "engine">,
  agentVersion: string,
): boolean {
  if (archive === undefined) return false;
  if (last === undefined || last.image !== engine.image || last.agent !== agentVersion) return true;
  // A failed verification is repeated daily: somebody may have repaired the archive.
  const days = Math.min(archive.verify_days, last.ok ? longestDays : 1);
  return now.getTime() >= Date.parse(last.at) + days * dayMs;
}
