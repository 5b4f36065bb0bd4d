import type { GroupReport, PrimaryTerm, NodeReport, NodeSpec } from "@moorage/contract/agent";

/** Who takes writes on a timeline, and who follows it. */
type Timeline = { open?: Pick<PrimaryTerm, "node" | "term"> | undefined; followers: Set<string> };
/** What a host was told of its member last, in which term its server ended, and what the member has. */
type Host = { primary: PrimaryTerm; fenced?: number; gtid?: string };

const timelines = new Map<string, Timeline>();
/** By node: hosts hear each other's terms, on whatever timelines their members are. */
const hosts = new Map<string, Host>();

/**
 * What a member of an asynchronous cluster says, if all that it is told is done at once: the leader of the newest term
 * opens when another host knows that term, after it was given over to, and the others follow it.
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
      ...{ state: "online", role: isPrimary ? "primary" : "secondary", view: `${group.slice(0, 8)}.${primary.term}` },
      ...{ primary: primary.node, online, shared: online > 1, backlog_seconds: 0, term: primary.term },
    },
  };
}

type Cluster = NonNullable<NodeSpec["cluster"]>;

/** `others`: what their hosts know. */
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

/** A server that is gone without a word. It leads again when its host starts it in the same term. */
export function leaveTimeline(group: string, node: string): void {
  const timeline = timelineOf(group);
  timeline.followers.delete(node);
  if (timeline.open?.node !== node) return;
  timeline.open = undefined;
  timeline.followers.clear();
}

/** The leader's server has ended, and its host has written down that it leads no more in this term. */
export function fencePrimary(spec: NodeSpec): void {
  const { cluster, node } = spec;
  if (cluster?.primary === undefined) throw new Error(`Node ${node} follows nobody.`);
  hosts.set(node, { ...hosts.get(node), primary: cluster.primary, fenced: cluster.primary.term });
  leaveTimeline(cluster.group, node);
}

/** What a member has, for when it says so: while it neither leads nor follows. */
export function setGtid({ node, cluster }: NodeSpec, gtid: string): void {
  if (cluster?.primary !== undefined) hosts.set(node, { ...hosts.get(node), primary: cluster.primary, gtid });
}

function timelineOf(group: string): Timeline {
  const timeline = timelines.get(group) ?? { followers: new Set() };
  timelines.set(group, timeline);
  return timeline;
}
