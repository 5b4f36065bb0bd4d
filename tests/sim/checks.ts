import { countMissing, type GroupReport, parseGtidSet, type PrimaryTerm, uniteGtidSets } from "@moorage/contract/agent";
import type { ControlPlane } from "./control-plane.ts";
import { gtidOf, replicasOf } from "./servers.ts";
import { contains, fromText, missingIn, textOf } from "./transactions.ts";
import { type Host, nodeOf, ordinalOf, othersOf, type World } from "./world.ts";

const reachableSeconds = 30;
/** A host that is connected polls more often. */
const pollSeconds = 2;

/** At the moment at which a member was opened to writes. */
export function noteOpening(world: World, { ordinal, spec, used, server }: Host, term: number, isFirst: boolean): void {
  if ((used.fenced ?? 0) >= term)
    world.violate(`node ${ordinal} opens in term ${term}, in which its host has fenced it`);
  const { reason, from } = world.terms.get(term) ?? {};
  const left =
    isFirst && reason === "handover" ? missingIn(world.host(ordinalOf(from)).server.executed, server.executed) : "";
  if (left !== "") world.violate(`node ${ordinal} takes over in term ${term} without ${left} of the former primary`);
  const knowsTerm = (other: number): boolean => world.host(other).spec.cluster.primary.term >= term;
  if (spec.cluster.primary.reason !== "sole_survivor" && !othersOf(ordinal).some(knowsTerm))
    world.violate(`node ${ordinal} opens in term ${term}, which no other host knows`);
  for (const other of othersOf(ordinal)) {
    const isUsed = world.hosts.some((host) => host.proxy.forwards[other] && world.reaches(host.ordinal, other));
    if (world.host(other).server.open && !world.host(other).server.forClone && isUsed)
      world.violate(`node ${ordinal} opens in term ${term} while a proxy forwards writes to node ${other}`);
  }
}

/** At the moment at which a host observes its member. */
export function noteReport(world: World, { ordinal, server }: Host, { gtid }: GroupReport): void {
  if (gtid !== undefined && (server.open || server.receiving === "on"))
    world.violate(`node ${ordinal} reports its GTID set while it ${server.open ? "takes writes" : "receives"}`);
}

/** The condition of a term is dropped: from now on its primary waits for nobody. */
export function noteConfirmed(world: World, { node, term }: PrimaryTerm): void {
  const ordinal = ordinalOf(node);
  if (world.host(ordinal).used.opened?.term !== term)
    world.violate(`term ${term} is confirmed, and node ${ordinal} has not opened in it`);
}

/** A person has to decide. */
export function noteAsked(world: World, control: ControlPlane): void {
  const { node, term } = control.primary();
  const [old, ...others] = control.members().toSorted((a, b) => Number(b.node === node) - Number(a.node === node));
  const sets = others.map(({ report, host }) =>
    report?.gtid === undefined || report.errant !== undefined || host.silentSeconds >= reachableSeconds
      ? undefined
      : { last: report.last_term, has: fromText(report.gtid) },
  );
  const [one, other] = sets;
  if ((old?.report?.fenced ?? 0) < term || one === undefined || other === undefined) return;
  const hasAll = contains(one.has, other.has) || contains(other.has, one.has);
  if (one.last === other.last && hasAll)
    world.violate(`a person is asked, and one replica of the fenced primary has everything`);
}

/** Transactions were reported as lost. */
export function noteReported(world: World, control: ControlPlane, gtid: string): void {
  const { server } = world.host(control.primaryOrdinal());
  if (server.open && countMissing(parseGtidSet(gtid), parseGtidSet(textOf(server.executed))) === 0)
    world.violate(`${gtid} is reported as lost, and the primary has it`);
}

type Promotion = { winner: number; why: "consent" | PrimaryTerm["reason"] };

/** Before the term changes. */
export function notePromotion(world: World, control: ControlPlane, { winner, why }: Promotion): void {
  const [old, { term }] = [world.host(control.primaryOrdinal()), control.primary()];
  if (world.hosts.some(({ keeper }) => !keeper.alive)) world.happens("a gatekeeper away during a promotion");
  const isFenced = (old.used.fenced ?? 0) >= term;
  if (why === "consent" && !isFenced) world.happens("a promotion over consent");
  const isClosed = !old.server.open && old.savedErrant !== undefined;
  if ((why === "fenced" && !isFenced) || (why === "forced" && !isClosed))
    world.violate(`node ${winner} is promoted as ${why}, and the primary's host has no record of it`);
  const seen = control.members()[old.ordinal];
  const isSeen = (seen?.host.silentSeconds ?? Infinity) < pollSeconds;
  // A primary that has just opened may be promoted over until its host has reported that.
  if (why === "consent" && isSeen && old.reachesUs && old.server.open && seen?.report?.state === "online")
    world.violate(`a tenant promotes node ${winner} over node ${old.ordinal}, which is reachable and takes writes`);
  passedOver(world, control, { winner, why });
  if (why === "fenced") broughtBack(world, control, old, winner);
}

/**
 * A reachable member of the newest term, which has reported both that and that it has more than the winner. Over consent
 * the old primary may be alive: a member that began to follow it after its last report is of its term, and nobody knows
 * that yet. The winner fetches what such a member has before it opens (`memberAhead`), and `checkEnd` finds what is lost.
 */
function passedOver(world: World, control: ControlPlane, { winner, why }: Promotion): void {
  const { term, node } = control.primary();
  for (const { ordinal, host, report, recloning } of control.members()) {
    if (ordinal === winner || nodeOf(ordinal) === node || recloning || host.silentSeconds >= reachableSeconds) continue;
    if (report?.gtid === undefined || report.errant !== undefined) continue;
    // Nothing arrives from a primary that ended, once a member has reported that it receives nothing.
    const isFinal = why === "fenced" && host.silentSeconds < pollSeconds;
    const has = isFinal ? gtidOf(world.host(ordinal).server) : fromText(report.gtid);
    const followed = isFinal ? world.host(ordinal).used.followed : report.last_term;
    const more = missingIn(has, gtidOf(world.host(winner).server));
    if (more !== "" && followed === term)
      world.violate(`node ${winner} is promoted, and node ${ordinal} of the newest term has reported ${more} more`);
  }
}

/** What was reported as lost stays lost, unless the fenced primary had fetched it before it opened. */
function broughtBack(world: World, control: ControlPlane, old: Host, winner: number): void {
  const [had, has] = [textOf(gtidOf(old.server)), textOf(gtidOf(world.host(winner).server))];
  const lost = control.reported.map(parseGtidSet);
  const lostWith = (gtid: string): number => lost.reduce((sum, set) => sum + countMissing(set, parseGtidSet(gtid)), 0);
  if (lostWith(had) > lostWith(`${had},${has}`))
    world.violate(`node ${winner} is promoted over a fence, and has transactions that were reported as lost`);
}

/** A primary and three members that replicate, and clients that reach them. */
export function isLive(world: World, control: ControlPlane): boolean {
  const [ordinal, primary] = [control.primaryOrdinal(), control.primary()];
  const { server } = world.host(ordinal);
  const isServed = world.hosts.every(({ proxy }) => proxy.forwards[ordinal] === true);
  const isWhole = server.open && replicasOf(world, ordinal).length === 2 && control.reclones.size === 0;
  return isWhole && isServed && world.rules.isAgreedInTerm(primary, control.members());
}

export type Losses = { lost: number; unreported: number };

/** At the end of a run: `server` is the primary's. */
export function checkEnd(world: World, control: ControlPlane): Losses {
  const ordinal = control.primaryOrdinal();
  const { server } = world.host(ordinal);
  for (const replica of replicasOf(world, ordinal)) {
    const more = missingIn(world.host(replica).server.executed, server.executed);
    if (more !== "") world.violate(`node ${replica} replicates from node ${ordinal}, and is ahead of it by ${more}`);
  }
  const lost = world.acknowledged.filter(({ uuid, number }) => number > (server.executed.get(uuid) ?? 0));
  const reported = uniteGtidSets(...control.reported.map(parseGtidSet));
  const isReported = ({ uuid, number }: { uuid: string; number: number }): boolean =>
    (reported.get(uuid) ?? []).some(([first, last]) => number >= first && number <= last);
  const unreported = lost.filter((write) => !isReported(write)).length;
  if (unreported > 0) world.violate(`${unreported} of ${lost.length} lost acknowledged writes were not reported`);
  checkNames(world);
  return { lost: lost.length, unreported };
}

/** Two transactions of one name would be taken for the same one. */
function checkNames(world: World): void {
  const given = new Set<string>();
  for (const { uuid, number } of world.acknowledged) {
    const name = `${uuid}:${number}`;
    if (given.has(name)) return world.violate(`the GTID ${name} was given twice`);
    given.add(name);
  }
}
