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
  /** Asks the gateway; it fails while there is none. */
  adminPassword: (node: string) => Promise<string>;
  /** Of the members' own account. Asks the gateway, like `adminPassword`. */
  groupPassword: (node: string) => Promise<string>;
  /** Whether the gateway can be told something now. */
  gatewayAnswers: () => Promise<boolean>;
  /** Addresses for objects of a node's timeline; asks the gateway. */
  uploads: UploadDeps["uploads"];
  /** What the gatekeeper knows of a member's cluster; undefined while it does not answer. */
  viewsOf: (node: string) => Promise<ClusterViews | undefined>;
  /** Asks the gateway, like `adminPassword`. */
  certificateFor: (node: string, csr: string) => Promise<{ certificate: string; ca: string }>;
  /** The encryption keys that the control plane knows of a node; undefined if it knows none. */
  keyringOf: (node: string) => Promise<Buffer | undefined>;
  sendKeyring: (node: string, keyring: Buffer) => Promise<void>;
  /** How to make a node's wanted data, or its newest restore point, from the object store. */
  recipeFor: (node: string, purpose: RecipeRequest["purpose"]) => Promise<Recipe>;
  /** Everything that was committed until now goes to the archive. Undefined while there is none. */
  shipNow?: (node: string, signal: AbortSignal) => Promise<void>;
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
  paths: nodePaths(deps.host, spec.node, ordinalOf(spec)),
  network: nodeNetwork(spec.node, spec.network.address, ownMember(spec)?.own.address),
  superseded,
});
