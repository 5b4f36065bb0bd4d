import type { NodeSpec } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { type HostPaths, type NodePaths, nodePaths } from "../base/host-paths.ts";
import { ownMember } from "../specs/member.ts";
import { type NodeNetwork, nodeNetwork } from "./network.ts";
import type { Podman } from "./podman.ts";
import { ordinalOf } from "./timelines.ts";

/** What the work on every node needs. A folder that needs more declares it itself; `reconcile` composes all of it. */
export type NodeDeps = {
  host: HostPaths;
  podman: Podman;
  enginesDir: string;
  clock: () => Date;
  log: Logger;
};

/** What every step may use during one run for one node. */
export type NodeContext = NodeDeps & {
  spec: NodeSpec;
  paths: NodePaths;
  network: NodeNetwork;
  /** True when this run should end after its current step: there is a newer spec, or the agent is closing. */
  superseded: () => boolean;
};

export const nodeContext = <Deps extends NodeDeps>(
  deps: Deps,
  spec: NodeSpec,
  superseded: () => boolean,
): Deps & NodeContext => ({
  ...deps,
  spec,
  paths: nodePaths(deps.host, spec.node, ordinalOf(spec)),
  network: nodeNetwork(spec.node, spec.network.address, ownMember(spec)?.own.address),
  superseded,
});
