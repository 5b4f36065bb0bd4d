import type { NodeSpec, Recipe, RecipeRequest } from "@moorage/contract/agent";
import type { Logger } from "pino";
import type { UploadDeps } from "./archive/upload.ts";
import type { Proxies } from "./proxy/proxies.ts";
import type { Firewall } from "./firewall/firewall.ts";
import type { ClusterViews } from "./gatekeeper/views.ts";
import { type HostPaths, type NodePaths, nodePaths } from "./host-paths.ts";
import { ownMember } from "./member.ts";
import { type NodeNetwork, nodeNetwork } from "./network.ts";
import type { Podman } from "./podman.ts";
import type { SpecStore } from "./spec-store.ts";
import { ordinalOf } from "./timelines.ts";

export type NodeDeps = {
  host: HostPaths;
  store: SpecStore;
  podman: Podman;
  firewall: Firewall;
  proxies: Proxies;
  enginesDir: string;
  /** Requested from the gateway; fails while it is unreachable. */
  adminPassword: (node: string) => Promise<string>;
  /** The password of the members' own account. Requested from the gateway, like `adminPassword`. */
  groupPassword: (node: string) => Promise<string>;
  /** Whether the gateway is reachable now. */
  gatewayAnswers: () => Promise<boolean>;
  /** Upload addresses for objects of a node's timeline, requested from the gateway. */
  uploads: UploadDeps["uploads"];
  /** The gatekeeper's view of a member's cluster; undefined while the gatekeeper does not answer. */
  viewsOf: (node: string) => Promise<ClusterViews | undefined>;
  /** Requested from the gateway, like `adminPassword`. */
  certificateFor: (node: string, csr: string) => Promise<{ certificate: string; ca: string }>;
  /** The control plane's copy of a node's encryption keys; undefined if it has none. */
  keyringOf: (node: string) => Promise<Buffer | undefined>;
  sendKeyring: (node: string, keyring: Buffer) => Promise<void>;
  /** How to build a node's desired data, or its newest restore point, from the object store. */
  recipeFor: (node: string, purpose: RecipeRequest["purpose"]) => Promise<Recipe>;
  /** Archives everything that was committed until now. Undefined while there is no archive. */
  shipNow?: (node: string, signal: AbortSignal) => Promise<void>;
  clock: () => Date;
  log: Logger;
};

/** Everything that a step may use during one run for one node. */
export type NodeContext = NodeDeps & {
  spec: NodeSpec;
  paths: NodePaths;
  network: NodeNetwork;
  /** True when this run should end after its current step: there is a newer spec, or the agent is closing. */
  superseded: () => boolean;
};

export const nodeContext = (deps: NodeDeps, spec: NodeSpec, superseded: () => boolean): NodeContext => ({
  ...deps,
  spec,
  paths: nodePaths(deps.host, spec.node, ordinalOf(spec)),
  network: nodeNetwork(spec.node, spec.network.address, ownMember(spec)?.own.address),
  superseded,
});
