import type { GroupReport, PrimaryTerm, NodeReport, NodeSpec } from "@moorage/contract/agent";

/** The node that accepts writes on a timeline, and its replicas. */
type Timeline = { open?: Pick<PrimaryTerm, "node" | "term"> | undefined; followers: Set<string> };
/** The latest primary term that a host got, the term in which its server was fenced, and the member's GTID set. */
type Host = { primary: PrimaryTerm; fenced?: number; gtid?: string };

const timelines = new Map<string, Timeline>();
/** By node: hosts learn each other's terms, on whatever timelines their members are. */
const hosts = new Map<string, Host>();

/**
 * The report of a member of an asynchronous cluster that applies its spec at once: the primary of the newest term
 * accepts writes when another host knows that term, and after the handover if there is one; the others replicate from
 * it.
 */
export function simulateFollowing(spec: NodeSpec, { group, primary, members }: Cluster): Partial<NodeReport> {
  if (primary === undefined) return {};
  const host: Host = { ...hosts.get(spec.node), primary };
  hosts.set(spec.node, host);
  const away: GroupReport = { state: "away", online: 0, shared: false, term: primary.term };
  if (spec.tombstone !== undefined || spec.power === "off") {
    leaveTimeline(group, spec.node);
    return { group: away };
  }
  const timeline = timelineOf(group);
  const others = members.flatMap(({ node }) => (node === spec.node ? [] : (hosts.get(node)?.primary ?? [])));
  const isPrimary = primary.node === spec.node;
  const isFenced = isPrimary && (host.fenced ?? 0) >= primary.term;
  if (isFenced) return waits({ ...away, ...fenceOf(host) });

  const isOpen = timeline.open?.node === spec.node;
  if (isOpen && (!isPrimary || timeline.open?.term !== primary.term)) timeline.open = undefined;
  if (isPrimary && mayOpen(primary, others, timeline)) {
    timeline.open = { node: spec.node, term: primary.term };
    timeline.followers.delete(spec.node);
  }
  const follows = !isPrimary && timeline.open?.node === primary.node && timeline.open.term === primary.term;
  if (follows) timeline.followers.add(spec.node);
  else timeline.followers.delete(spec.node);
  if (!follows && timeline.open?.node !== spec.node)
    return waits({ ...away, state: "offline", gtid: host.gtid ?? "", ...fenceOf(host) });
  const online = timeline.followers.size + 1;
  return {
    group: {
      state: "online",
      role: isPrimary ? "primary" : "secondary",
      view: `${group.slice(0, 8)}.${primary.term}`,
      primary: primary.node,
      online,
      shared: online > 1,
      backlog_seconds: 0,
      term: primary.term,
    },
  };
}

type Cluster = NonNullable<NodeSpec["cluster"]>;

/** `others`: the terms that the other hosts know. */
function mayOpen(
  { node, term, reason, from }: PrimaryTerm,
  others: readonly PrimaryTerm[],
  { open }: Timeline,
): boolean {
  if (open?.node === node && open.term === term) return true;
  if (others.some((other) => other.term > term)) return false;
  if (reason !== "sole_survivor" && !others.some((other) => other.term === term)) return false;
  if (reason !== "handover" || from === undefined) return true;
  return hosts.get(from)?.primary.term === term && open?.node !== from;
}

const waits = (group: GroupReport): Partial<NodeReport> => ({ state: "working", step: "group", percent: 90, group });
const fenceOf = ({ fenced }: Host): { fenced?: number } => (fenced === undefined ? {} : { fenced });

/** A server that crashes. It is primary again when its host restarts it in the same term. */
export function leaveTimeline(group: string, node: string): void {
  const timeline = timelineOf(group);
  timeline.followers.delete(node);
  if (timeline.open?.node !== node) return;
  timeline.open = undefined;
  timeline.followers.clear();
}

/** The primary's server has ended, and its host has recorded that it is fenced in this term. */
export function fencePrimary(spec: NodeSpec): void {
  const { cluster, node } = spec;
  if (cluster?.primary === undefined) throw new Error(`Node ${node} follows nobody.`);
  hosts.set(node, { ...hosts.get(node), primary: cluster.primary, fenced: cluster.primary.term });
  leaveTimeline(cluster.group, node);
}

/** Sets the GTID set that a member reports while it is neither primary nor replica. */
export function setGtid({ node, cluster }: NodeSpec, gtid: string): void {
  if (cluster?.primary !== undefined) hosts.set(node, { ...hosts.get(node), primary: cluster.primary, gtid });
}

function timelineOf(group: string): Timeline {
  const timeline = timelines.get(group) ?? { followers: new Set() };
  timelines.set(group, timeline);
  return timeline;
}
