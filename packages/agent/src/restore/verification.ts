import type { NodeSpec, VerifiedRequest } from "@moorage/contract/agent";
import { GatewayRefused } from "../gateway.ts";
import { nodePaths } from "../host-paths.ts";
import { type NodeDeps, nodeContext } from "../node-context.ts";
import { timelineRecord } from "../node-state.ts";
import { ordinalOf } from "../timelines.ts";
import { dueVerification } from "./due-verification.ts";
import { recipeSource } from "./recipe-source.ts";
import { verifyPoint } from "./verify-point.ts";
import { endServerWith, workplace } from "./workplace.ts";

export type VerificationDeps = NodeDeps & {
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
