import { setInterval as every } from "node:timers/promises";
import { type NodeSpec, PROTOCOL, type SamplesRequest } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { type HostPaths, nodePaths } from "../host-paths.ts";
import { inhabitants, nodeNetwork } from "../network.ts";
import { sampleNode } from "./sample-node.ts";

const sampleEveryMs = 15_000;
const sendWithinMs = 5000;

export type SamplingDeps = {
  host: HostPaths;
  specs: () => NodeSpec[];
  send: (message: SamplesRequest, signal: AbortSignal) => Promise<unknown>;
  log: Logger;
};

/**
 * Sends the metrics of all running nodes in one message. Old samples are worthless: what cannot be sent is dropped, and
 * nothing waits for this.
 */
export async function keepSampling(deps: SamplingDeps, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of every(sampleEveryMs, undefined, { signal }))
      await sampleAll(deps, signal).catch((error: unknown) =>
        deps.log.debug({ error: String(error) }, "metrics could not be sampled"),
      );
  } catch {
    // closed
  }
}

async function sampleAll({ host, specs, send }: SamplingDeps, signal: AbortSignal): Promise<void> {
  const known = specs();
  const pids = await inhabitants(known.map(({ node, network }) => nodeNetwork(node, network.address)));
  const nodes = await Promise.all(
    known.flatMap((spec, index) => {
      const pid = pids[index];
      if (pid === undefined) return [];
      const sampled = sampleNode({ spec, paths: nodePaths(host, spec.node), pid });
      return sampled.then((values) => ({ node: spec.node, values }));
    }),
  );
  if (nodes.length === 0) return;
  await send({ protocol: PROTOCOL, nodes }, AbortSignal.any([signal, AbortSignal.timeout(sendWithinMs)]));
}
