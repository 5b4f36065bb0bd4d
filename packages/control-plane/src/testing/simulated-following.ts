import type { GroupReport, Leader, NodeReport, NodeSpec } from "@moorage/contract/agent";

/** Who takes writes on a timeline, and who follows it. */
type Timeline = { open?: Pick<Leader, "node" | "term"> | undefined; followers: Set<string> };
/** What a host was told of its member last, in which term its server ended, and what the member has. */
type Host = { leader: Leader; fenced?: number; gtid?: string };

const timelines = new Map<string, Timeline>();
/** By node: hosts hear each other's terms, on whatever timelines their members are. */
const hosts = new Map<string, Host>();

/**
 * What a member of an asynchronous cluster says, if all that it is told is done at once: the leader of the newest term
 * opens when another host knows that term, after it was given over to, and the others follow it.
 */
export function simulateFollowing(spec: NodeSpec, { group, leader, members }: Cluster): Partial<NodeReport> {
  if (leader === undefined) return {};
  const host: Host = { ...hosts.get(spec.node), leader };
  hosts.set(spec.node, host);
  const away: GroupReport = { state: "away", online: 0, shared: false, term: leader.term };
  if (spec.tombstone !== undefined || spec.power === "off") {
    leaveTimeline(group, spec.node);
    return { group: away };
  }
  const timeline = timelineOf(group);
  const others = members.flatMap(({ node }) => (node === spec.node ? [] : (hosts.get(node)?.leader ?? [])));
  const leads = leader.node === spec.node;
  const isFenced = leads && (host.fenced ?? 0) >= leader.term;
  if (isFenced) return waits({ ...away, ...fenceOf(host) });

  const isOpen = timeline.open?.node === spec.node;
  if (isOpen && (!leads || timeline.open?.term !== leader.term)) timeline.open = undefined;
  if (leads && mayOpen(leader, others, timeline)) {
    timeline.open = { node: spec.node, term: leader.term };
    timeline.followers.delete(spec.node);
  }
  const follows = !leads && timeline.open?.node === leader.node && timeline.open.term === leader.term;
  if (follows) timeline.followers.add(spec.node);
  else timeline.followers.delete(spec.node);
  if (!follows && timeline.open?.node !== spec.node)
    return waits({ ...away, state: "offline", gtid: host.gtid ?? "", ...fenceOf(host) });
  const online = timeline.followers.size + 1;
  return {
    group: {
      ...{ state: "online", role: leads ? "primary" : "secondary", view: `${group.slice(0, 8)}.${leader.term}` },
      ...{ primary: leader.node, online, shared: online > 1, backlog_seconds: 0, term: leader.term },
    },
  };
}

type Cluster = NonNullable<NodeSpec["cluster"]>;

/** `others`: what their hosts know. */
function mayOpen({ node, term, over, from }: Leader, others: readonly Leader[], { open }: Timeline): boolean {
  if (open?.node === node && open.term === term) return true;
  if (others.some((other) => other.term > term)) return false;
  if (over !== "alone" && !others.some((other) => other.term === term)) return false;
  if (over !== "hand" || from === undefined) return true;
  return hosts.get(from)?.leader.term === term && open?.node !== from;
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
export function fenceLeader(spec: NodeSpec): void {
  const { cluster, node } = spec;
  if (cluster?.leader === undefined) throw new Error(`Node ${node} follows nobody.`);
  hosts.set(node, { ...hosts.get(node), leader: cluster.leader, fenced: cluster.leader.term });
  leaveTimeline(cluster.group, node);
}

/** What a member has, for when it says so: while it neither leads nor follows. */
export function giveGtid({ node, cluster }: NodeSpec, gtid: string): void {
  if (cluster?.leader !== undefined) hosts.set(node, { ...hosts.get(node), leader: cluster.leader, gtid });
}

function timelineOf(group: string): Timeline {
  const timeline = timelines.get(group) ?? { followers: new Set() };
  timelines.set(group, timeline);
  return timeline;
}
