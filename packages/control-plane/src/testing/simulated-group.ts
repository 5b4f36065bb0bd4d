import type { GroupReport, NodeReport, NodeSpec } from "@moorage/contract/agent";
import { leaveTimeline, simulateFollowing } from "./simulated-following.ts";

type Cluster = NonNullable<NodeSpec["cluster"]>;
/**
 * The online members by ordinal, the permissions that were used, and which member bootstrapped with which permission.
 */
type Group = {
  online: string[];
  primary?: string | undefined;
  view: number;
  used: Set<string>;
  bootstraps: Map<string, string>;
};

/** By the name of the group, so that the simulated hosts of a test share it. */
const groups = new Map<string, Group>();

/**
 * The report of a member whose engine applies its spec at once: an unused permission bootstraps a group, other members
 * join an existing one, the lowest ordinal is primary until another is made primary. Without a group or a permission
 * the member waits. Members of an asynchronous cluster are in simulated-following.ts.
 */
export function simulateMember(spec: NodeSpec): Partial<NodeReport> {
  const { cluster } = spec;
  if (cluster === undefined) return {};
  if (cluster.replication === "asynch") return simulateFollowing(spec, cluster);
  if (spec.tombstone !== undefined || spec.power === "off") {
    leaveGroup(cluster.group, spec.node);
    return { group: { state: "away", online: 0, shared: false } };
  }
  const group = groupOf(cluster.group);
  // A re-cloned member has the others' data, so it joins them too.
  const mayJoin = cluster.stay_out !== true && !group.online.includes(spec.node);
  if (mayJoin && (group.online.length > 0 || bootstrap(group, spec.node, cluster.bootstrap)))
    join(group, cluster, spec.node);
  if (!group.online.includes(spec.node)) {
    const waits: GroupReport = { state: "offline", online: 0, shared: false, gtid: "" };
    return { state: "working", step: "group", percent: 90, group: { ...waits, ...bootstrapReport(group, spec.node) } };
  }
  if (use(group, spec.node, cluster.make_primary)) Object.assign(group, { primary: spec.node, view: group.view + 1 });
  return { group: { ...online(group, spec.node), ...bootstrapReport(group, spec.node) } };
}

/** A member that crashes: the others continue without it. */
export function leaveGroup(name: string, node: string): void {
  leaveTimeline(name, node);
  const group = groupOf(name);
  if (!group.online.includes(node)) return;
  group.online = group.online.filter((member) => member !== node);
  if (group.primary === node) group.primary = group.online[0];
  group.view++;
}

function groupOf(name: string): Group {
  const group = groups.get(name) ?? { online: [], view: 0, used: new Set(), bootstraps: new Map() };
  groups.set(name, group);
  return group;
}

function join(group: Group, { members }: Cluster, node: string): void {
  group.online = members.map((member) => member.node).filter((id) => id === node || group.online.includes(id));
  group.primary ??= node;
  group.view++;
}

function use({ used }: Group, node: string, id: string | undefined): boolean {
  if (id === undefined || used.has(`${node} ${id}`)) return false;
  used.add(`${node} ${id}`);
  return true;
}

function bootstrap(group: Group, node: string, id: string | undefined): boolean {
  if (id === undefined || !use(group, node, id)) return false;
  group.bootstraps.set(node, id);
  return true;
}

/** A host remembers it, even after the permission was withdrawn. */
const bootstrapReport = ({ bootstraps }: Group, node: string): { bootstrapped?: string } => {
  const id = bootstraps.get(node);
  return id === undefined ? {} : { bootstrapped: id };
};

const online = (group: Group, node: string): GroupReport => ({
  state: "online",
  role: group.primary === node ? "primary" : "secondary",
  view: `${group.view}`,
  ...(group.primary === undefined ? {} : { primary: group.primary }),
  online: group.online.length,
  shared: group.online.length > 1,
  backlog_seconds: 0,
});
