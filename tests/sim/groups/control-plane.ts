import { type Cluster, chooseDonor, type GroupReport, type NodeState } from "@moorage/contract/agent";
import type { BootstrapMember } from "../../../packages/control-plane/src/databases/clusters/health/bootstrapping.ts";
import { whyStuck } from "../../../packages/control-plane/src/databases/clusters/health/why-stuck.ts";
import {
  isReachable,
  type ObservedMember,
} from "../../../packages/control-plane/src/databases/clusters/member-condition.ts";
import type { Process } from "../schedule.ts";
import { nodeOf, ordinalOf, ordinals } from "../world.ts";
import { gather } from "./agents.ts";
import { type GroupHost, type GroupWorld, specOf } from "./world.ts";

type Row = {
  report: GroupReport | null;
  state: NodeState;
  seenAt: number;
  unhealthySince: number | undefined;
  /** The generation that its host has run, and the one with which it observed the group. */
  ran: number;
  seenBy: number;
};
type Orders = Partial<Pick<Cluster, "bootstrap" | "reclone" | "make_primary" | "stay_out">>;
type Operation =
  | { kind: "bootstrap"; withdrawn: boolean }
  | { kind: "replace"; ordinal: number }
  | { kind: "switch"; to: number; until: number };

const settings = { hostSilentSeconds: 300 };
const [againMs, switchMs] = [600_000, 30_000];

export function createGroupControl(world: GroupWorld) {
  const rows: Row[] = ordinals.map(() => ({
    report: null,
    state: "running",
    seenAt: 0,
    unhealthySince: undefined,
    ran: 1,
    seenBy: 1,
  }));
  const failedAt = { replace: -Infinity, bootstrap: -Infinity };
  let orders: Orders[] = [{}, {}, {}];
  let generation = 1;
  let operation: Operation | undefined;
  let ids = 0;
  const seconds = (at: number): number => (world.now() - at) / 1000;
  const newId = (): string => `00000000-0000-4000-8000-${String((ids += 1)).padStart(12, "0")}`;
  const send = (next: readonly Orders[]): void => {
    orders = [...next];
    generation += 1;
  };
  const only = (ordinal: number, order: Orders): Orders[] => ordinals.map((each) => (each === ordinal ? order : {}));

  const members = (): ObservedMember[] =>
    ordinals.map((ordinal) => {
      const { report, state, seenAt, unhealthySince } = rows[ordinal] as Row;
      const host = {
        name: `host-${ordinal}`,
        dead: false,
        silentSeconds: seconds(seenAt),
        unseenSeconds: seconds(seenAt),
      };
      const unhealthySeconds = unhealthySince === undefined ? 0 : seconds(unhealthySince);
      const recloning = orders[ordinal]?.reclone !== undefined;
      return { node: nodeOf(ordinal), ordinal, host, state, message: null, report, unhealthySeconds, recloning };
    });
  const isSeen = (ordinal: number): boolean => world.rules.isSeen(rows[ordinal] as Row, generation);

  function bootstrap(withdrawn: boolean): void {
    const all = members().map(
      ({ node, ordinal, host, state, report }): BootstrapMember => ({
        node,
        ordinal,
        dead: false,
        followed: isSeen(ordinal) && isReachable(host),
        state,
        report,
        bootstrap: orders[ordinal]?.bootstrap,
        staysOut: orders[ordinal]?.stay_out === true,
      }),
    );
    const next = world.rules.nextOfBootstrap(
      all,
      world.rules.membersToCount(all, { acceptsLoss: false, wasSuspended: false }),
    );
    const stayOut = (): void => send(ordinals.map(() => ({ stay_out: true as const })));
    if (!withdrawn) {
      stayOut();
      operation = { kind: "bootstrap", withdrawn: true };
    } else if (next.do === "withdraw") stayOut();
    else if (next.do === "release") send([{}, {}, {}]);
    else if (next.do === "bootstrap") {
      world.say(`node ${ordinalOf(next.node)} may bootstrap`);
      send(only(ordinalOf(next.node), { bootstrap: newId() }));
    } else if (next.do === "done" || next.do === "fail") {
      if (next.do === "fail") failedAt.bootstrap = world.now();
      send([{}, {}, {}]);
      operation = undefined;
    }
  }

  function replace(ordinal: number): void {
    const { report, state } = rows[ordinal] as Row;
    const isDone = isSeen(ordinal) && state === "running" && report?.state === "online";
    const why = whyStuck(members(), { ordinal, isSeen: isSeen(ordinal) }, settings);
    if (!isDone && why === undefined) return;
    if (!isDone) failedAt.replace = world.now();
    send([{}, {}, {}]);
    operation = undefined;
  }

  const control = {
    members,
    generation: () => generation,
    isIdle: (): boolean => operation === undefined && orders.every((each) => Object.keys(each).length === 0),
    isRepairLater: (): boolean => Math.max(failedAt.replace, failedAt.bootstrap) > world.now() - againMs,
    poll: (host: GroupHost): void => void ((rows[host.ordinal] as Row).seenAt = world.now()),
    specFor(host: GroupHost): void {
      host.generation = generation;
      host.spec = specOf(host.ordinal, orders[host.ordinal]);
    },
    take(
      { ordinal }: GroupHost,
      report: GroupReport,
      { seenBy, ran }: { seenBy: number; ran: GroupHost["ran"] },
    ): void {
      const row = rows[ordinal] as Row;
      const isWell = report.state === "online" && report.shared;
      Object.assign(row, { report, seenBy, ran: ran.generation, state: ran.takesPart ? "running" : "working" });
      row.unhealthySince = isWell ? undefined : (row.unhealthySince ?? world.now());
    },
    switchOver(): boolean {
      const chosen = world.rules.choosePrimary(members());
      if (operation !== undefined || "refused" in chosen) return false;
      const to = ordinalOf(chosen.to);
      operation = { kind: "switch", to, until: world.now() + switchMs };
      world.say(`switchover to ${to}`);
      send(only(to, { make_primary: newId() }));
      return true;
    },
    /** As the health job and the workflows. */
    check(): void {
      if (operation?.kind === "bootstrap") return bootstrap(operation.withdrawn);
      if (operation?.kind === "replace") return replace(operation.ordinal);
      if (operation?.kind === "switch") {
        const report = rows[operation.to]?.report;
        if (!(report?.role === "primary" && report.shared) && world.now() < operation.until) return;
        send([{}, {}, {}]);
        operation = undefined;
        return;
      }
      const seen = { label: "orders", status: "degraded", powered: true, busy: false, members: members() } as const;
      const { next } = world.rules.judgeCluster(
        { ...seen, failedSeconds: { replace: seconds(failedAt.replace), bootstrap: seconds(failedAt.bootstrap) } },
        settings,
      );
      if (next.do === "bootstrap") operation = { kind: "bootstrap", withdrawn: false };
      if (next.do !== "replace") return;
      const donor = chooseDonor(
        seen.members
          .filter(({ node, report, host }) => node !== next.node && isReachable(host) && report?.state === "online")
          .map(({ node, report }) => ({ node, role: report?.role })),
      );
      world.say(`node ${next.ordinal} is to be re-cloned`);
      operation = { kind: "replace", ordinal: next.ordinal };
      send(only(next.ordinal, { reclone: { id: newId(), ...(donor !== undefined && { donor }) } }));
    },
  };
  return control;
}
export type GroupControl = ReturnType<typeof createGroupControl>;

/** `isLossy`: PostgreSQL is away, or its reply is lost, and the round is done again. */
export function* runControl(world: GroupWorld, control: GroupControl, isLossy: () => boolean): Process {
  for (;;) {
    yield 1000;
    if (!isLossy() || world.random.chance(0.5)) control.check();
    if (isLossy() && world.random.chance(0.5)) control.check();
  }
}

export function* runPolls(world: GroupWorld, control: GroupControl, host: GroupHost): Process {
  for (;;) {
    yield world.between(200, 600);
    if (!host.up || !host.agentUp || !host.reachesUs) continue;
    control.poll(host);
    if (host.generation === control.generation()) continue;
    yield world.between(5, 150);
    if (host.up && host.agentUp && host.reachesUs) control.specFor(host);
  }
}

/** `isLossy`: a report is stored late. */
export function* runReports(
  world: GroupWorld,
  control: GroupControl,
  host: GroupHost,
  isLossy: () => boolean,
): Process {
  for (;;) {
    yield 500;
    if (!host.up || !host.agentUp) continue;
    const { ran, run } = host;
    const report = observe(world, host);
    yield world.between(5, isLossy() ? 3000 : 120);
    if (host.up && host.agentUp && host.reachesUs) control.take(host, report, { ran, seenBy: run.generation });
  }
}

/** As `observeGroup`. */
function observe(world: GroupWorld, host: GroupHost): GroupReport {
  const { bootstrapped } = host.used;
  if (!host.server.alive) return { state: "away", online: 0, shared: false, ...(bootstrapped && { bootstrapped }) };
  const { own, views, facts } = gather(world, host);
  const decision = world.rules.decideGroup(host.run.spec, facts);
  const used = facts.used.bootstrapped;
  return {
    ...world.rules.placeOf(host.run.spec, { own, views }),
    ...world.rules.transactionsOf(own, facts, decision),
    ...(used !== undefined && { bootstrapped: used }),
  };
}
