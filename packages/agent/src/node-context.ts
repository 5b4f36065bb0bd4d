import type { NodeSpec } from "@moorage/contract/agent";
import type { Logger } from "pino";
import type { Gate } from "./gate/gate.ts";
import { type HostPaths, type NodePaths, nodePaths } from "./host-paths.ts";
import { type NodeNetwork, nodeNetwork } from "./network.ts";
import type { Podman } from "./podman.ts";
import type { SpecStore } from "./spec-store.ts";

export type NodeDeps = {
  host: HostPaths;
  store: SpecStore;
  podman: Podman;
  gate: Gate;
  enginesDir: string;
  /** Asks the gateway; it fails while there is none. */
  adminPassword: (node: string) => Promise<string>;
  /** Asks the gateway, like `adminPassword`. */
  certificateFor: (node: string, csr: string) => Promise<{ certificate: string; ca: string }>;
  clock: () => Date;
  log: Logger;
};

/** All that a step may use, for one run of one node. */
export type NodeContext = NodeDeps & {
  spec: NodeSpec;
  paths: NodePaths;
  network: NodeNetwork;
  /** True when this run should end at the next chance: there is a newer spec, or the agent is closing. */
  superseded: () => boolean;
};

export const nodeContext = (deps: NodeDeps, spec: NodeSpec, superseded: () => boolean): NodeContext => ({
  ...deps,
  spec,
  paths: nodePaths(deps.host, spec.node),
  network: nodeNetwork(spec.node, spec.network.address),
  superseded,
});
