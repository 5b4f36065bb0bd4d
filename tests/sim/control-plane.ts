import type { GroupReport, NodeState, PrimaryTerm } from "@moorage/contract/agent";
import type { ObservedMember } from "../../packages/control-plane/src/databases/clusters/member-condition.ts";
import { gather } from "./agents.ts";
import { noteAsked, noteConfirmed, notePromotion, noteReport, noteReported } from "./checks.ts";
import type { Process } from "./schedule.ts";
import { type Host, nodeOf, ordinalOf, ordinals, type World } from "./world.ts";

type Row = {
  report: GroupReport | null;
  state: NodeState;
  seenAt: number;
  unhealthySince: number | undefined;
  /** The generation of the spec with which its host observed it. */
  seenBy: number;
};

const handOverMs = 30_000;
const hostSilentSeconds = 300;
/** After a repair has failed, the next one. */
const againMs = 600_000;

/** The rows of the control plane, and what it sends to hosts. */
export function createControlPlane(world: World) {
  const rows: Row[] = ordinals.map(() => ({
    report: null,
    state: "running",
    seenAt: 0,
    unhealthySince: undefined,
    seenBy: 1,
  }));
  /** The order of each member that is to be re-cloned, and the generation of its spec. */
  const reclones = new Map<number, { id: string; generation: number }>();
  /** The member that the open operation replaces, and when the last one failed. */
  let replacing: number | undefined;
  let failedAt = -Infinity;
  /** GTID sets that were reported as lost. */
  const reported: string[] = [];
  let primary: PrimaryTerm = { node: nodeOf(0), term: 1, reason: "fenced" };
  let termSince = 0;
  let generation = 1;
  let orders = 0;

  const control = {
    primary: () => primary,
    primaryOrdinal: () => ordinalOf(primary.node),
    reported,
    reclones,
    isRepairLater: () => world.now() - failedAt < againMs,
    members: (): ObservedMember[] => ordinals.map((ordinal) => observe(ordinal)),
    /** All members get it in one transaction. */
    send(next: PrimaryTerm): void {
      if (next.term > primary.term) termSince = world.now();
      if (!world.terms.has(next.term)) world.terms.set(next.term, next);
      primary = next;
      generation += 1;
    },
    judge: (members: readonly ObservedMember[]) =>
      world.rules.judgeCluster(
        {
          label: "orders",
          status: "degraded",
          powered: true,
          busy: replacing !== undefined,
          failedSeconds: { replace: (world.now() - failedAt) / 1000 },
          members,
          asynch: { primary, archived: "", termSeconds: (world.now() - termSince) / 1000 },
        },
        { hostSilentSeconds },
      ),
    /** As a tenant who accepts every loss. Returns why it is refused. */
    promote(): string | undefined {
      const members = control.members();
      const old = world.rules.primaryToReplace(members, primary);
      if ("refusal" in old) return old.refusal.text;
      const next = world.rules.chooseSuccessor(members, old.node, "");
      if (typeof next === "string") return next;
      promoteTo(next, { node: next.node, term: primary.term + 1, reason: "forced", from: old.node }, "consent");
      return undefined;
    },
    /** A switchover on request; only of a healthy cluster. */
    handOver(to: number): boolean {
      if (!world.rules.isAgreedInTerm(primary, control.members()) || nodeOf(to) === primary.node) return false;
      world.say(`switchover to ${to}`);
      control.send({ node: nodeOf(to), term: primary.term + 1, reason: "handover", from: primary.node });
      const { term } = primary;
      world.after(handOverMs, () => {
        if (primary.term === term) endHandOver(to);
      });
      return true;
    },
    poll(host: Host): void {
      const row = rows[host.ordinal] as Row;
      row.seenAt = world.now();
    },
    specFor(host: Host): void {
      const id = reclones.get(host.ordinal)?.id;
      const { reclone: _, ...cluster } = host.spec.cluster;
      host.generation = generation;
      host.spec = { ...host.spec, cluster: { ...cluster, primary, ...(id !== undefined && { reclone: { id } }) } };
    },
    generation: () => generation,
    take({ ordinal }: Host, report: GroupReport, seenBy: number): void {
      const row = rows[ordinal] as Row;
      const isWell = report.state === "online" && report.shared;
      row.report = report;
      row.seenBy = seenBy;
      row.state = report.state === "online" ? "running" : "working";
      row.unhealthySince = isWell ? undefined : (row.unhealthySince ?? world.now());
    },
    /** As the health job and the promotion loop do. */
    check(): void {
      const members = control.members();
      const { next } = control.judge(members);
      if (next.do === "ask") noteAsked(world, control);
      saveLost(members);
      endReclones(members);
      endReplacement(members);
      if (next.do === "promote") {
        world.happens(next.reason === "fenced" ? "a promotion over a fence" : "a promotion over broken data");
        promoteTo(next, { node: next.node, term: primary.term + 1, reason: next.reason }, next.reason);
      } else if (next.do === "withdraw") {
        world.say(`the promotion in term ${primary.term} is withdrawn`);
        control.send({ node: next.node, term: primary.term + 1, reason: "handover", from: primary.node });
      } else if (next.do === "replace") orderReclone(next.ordinal);
      else if (next.do === "nothing" && primary.reason !== "fenced" && world.rules.isAgreedInTerm(primary, members))
        confirm();
    },
  };

  function observe(ordinal: number): ObservedMember {
    const { report, state, seenAt, unhealthySince } = rows[ordinal] as Row;
    const secondsSince = (at: number): number => (world.now() - at) / 1000;
    return {
      node: nodeOf(ordinal),
      ordinal,
      state,
      message: null,
      report,
      unhealthySeconds: unhealthySince === undefined ? 0 : secondsSince(unhealthySince),
      host: {
        name: `host-${ordinal}`,
        dead: false,
        silentSeconds: secondsSince(seenAt),
        unseenSeconds: secondsSince(seenAt),
      },
      recloning: reclones.has(ordinal),
    };
  }

  function promoteTo(
    { ordinal }: { ordinal: number },
    next: PrimaryTerm,
    why: "consent" | PrimaryTerm["reason"],
  ): void {
    notePromotion(world, control, { winner: ordinal, why });
    world.say(`promotes ${ordinal} (${why}) in term ${next.term}`);
    control.send(next);
  }

  function confirm(): void {
    noteConfirmed(world, primary);
    control.send({ node: primary.node, term: primary.term, reason: "fenced" });
  }

  function endHandOver(to: number): void {
    const outcome = world.rules.outcomeOfHandOver(primary, observe(to));
    if (outcome === undefined) return;
    if ("confirm" in outcome) confirm();
    else control.send({ ...outcome.back, term: primary.term + 1 });
  }

  function saveLost(members: readonly ObservedMember[]): void {
    for (const { report, ordinal } of members) {
      const gtid = report?.errant === undefined ? undefined : report.saved_errant?.gtid;
      if (gtid === undefined || reported.includes(gtid)) continue;
      reported.push(gtid);
      noteReported(world, control, gtid);
      world.say(`lost with ${ordinal}: ${gtid}`);
    }
  }

  function orderReclone(ordinal: number): void {
    orders += 1;
    generation += 1;
    replacing = ordinal;
    reclones.set(ordinal, { id: `00000000-0000-4000-8000-${String(orders).padStart(12, "0")}`, generation });
    world.say(`node ${ordinal} is to be re-cloned`);
  }

  function endReclones(members: readonly ObservedMember[]): void {
    for (const [ordinal, { id }] of reclones) {
      if (world.host(ordinal).used.recloned !== id || members[ordinal]?.report?.state !== "online") continue;
      reclones.delete(ordinal);
      generation += 1;
      if (replacing === ordinal) replacing = undefined;
    }
  }

  /** As the operation's workflow. Its order stays until it was carried out, or another one takes its place. */
  function endReplacement(members: readonly ObservedMember[]): void {
    if (replacing === undefined) return;
    const isSeen = (rows[replacing]?.seenBy ?? 0) >= (reclones.get(replacing)?.generation ?? Infinity);
    const why = world.rules.whyStuck(members, { ordinal: replacing, isSeen }, { hostSilentSeconds });
    if (why === undefined) return;
    world.happens(`a replacement ends: ${why}`);
    world.say(`the replacement of ${replacing} ends: ${why}`);
    if (why === "no donor") failedAt = world.now();
    else reclones.delete(replacing);
    replacing = undefined;
    generation += 1;
  }
  return control;
}
export type ControlPlane = ReturnType<typeof createControlPlane>;

export function* runControlPlane(world: World, control: ControlPlane): Process {
  for (;;) {
    yield 1000;
    control.check();
  }
}

/** A host asks for its desired state. */
export function* runPolls(world: World, control: ControlPlane, host: Host): Process {
  for (;;) {
    yield world.between(200, 600);
    if (!host.up || !host.reachesUs) continue;
    control.poll(host);
    if (host.generation === control.generation()) continue;
    yield world.between(5, 150);
    if (host.up && host.reachesUs) control.specFor(host);
  }
}

/** A host reports what it observes. */
export function* runReports(world: World, control: ControlPlane, host: Host): Process {
  for (;;) {
    yield 500;
    if (!host.up) continue;
    const { generation } = host;
    const report = observeMember(world, host);
    yield world.between(5, 120);
    if (host.up && host.reachesUs) control.take(host, report, generation);
  }
}

/** As `observeFollowing`. */
function observeMember(world: World, host: Host): GroupReport {
  const { spec, used, savedErrant } = host;
  const known = world.rules.termsOf(spec, used);
  if (!host.server.alive) return { state: "away", online: 0, shared: false, ...known };
  const seen = gather(world, host);
  const decision = world.rules.decideFollowing(spec, seen.facts);
  const isSaved = decision.kind === "errant" && savedErrant === decision.transactions;
  const saved = isSaved ? { name: "lost/1", gtid: savedErrant, bytes: 1, sha256: "0".repeat(64) } : undefined;
  const report = {
    ...world.rules.placeOf(spec, seen, decision),
    ...world.rules.transactionsOf(spec, seen, decision, saved),
    ...known,
  };
  noteReport(world, host, report);
  return report;
}
