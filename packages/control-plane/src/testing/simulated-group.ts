import type { GroupReport, NodeReport, NodeSpec } from "@moorage/contract/agent";
import { leaveTimeline, simulateFollowing } from "./simulated-following.ts";

type Cluster = NonNullable<NodeSpec["cluster"]>;
/** Who is online, in the order of ordinals, what may be done once and was, and who began by which permission. */
type Group = {
  online: string[];
  primary?: string | undefined;
  view: number;
  used: Set<string>;
  bootstraps: Map<string, string>;
};

/** By the name of the group, so that the simulated hosts of a test see the same one. */
const groups = new Map<string, Group>();

/**
 * What a member says, if its engine does all that it is told at once: a group begins by a permission that was not used
 * yet, others join one that is there, the lowest ordinal leads until another is to. Without either it waits. A member of
 * an asynchronous cluster says the same of whom it follows.
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
  // A member that was renewed came from the others, so it joins them too.
  if (!group.online.includes(spec.node) && (group.online.length > 0 || bootstrap(group, spec.node, cluster.bootstrap)))
    join(group, cluster, spec.node);
  if (!group.online.includes(spec.node)) {
    const waits: GroupReport = { state: "offline", online: 0, shared: false, gtid: "" };
    return { state: "working", step: "group", percent: 90, group: { ...waits, ...bootstrapReport(group, spec.node) } };
  }
  if (use(group, spec.node, cluster.make_primary)) Object.assign(group, { primary: spec.node, view: group.view + 1 });
  return { group: { ...online(group, spec.node), ...bootstrapReport(group, spec.node) } };
}

/** A member that is lost without a word: the others go on without it. */
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

/** A host remembers it, also when it was taken back. */
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
