import type { ControlPlane } from "./control-plane.ts";
import { startGatekeeper } from "./gatekeepers.ts";
import type { Process } from "./schedule.ts";
import { endServer } from "./servers.ts";
import { type Host, ordinals, othersOf, type World } from "./world.ts";

/** What can happen to hosts and links. */
export function createFaults(world: World, control: ControlPlane) {
  const note = (text: string): void => {
    if (control.primary().reason === "handover") world.happens("an interrupted switchover");
    world.say(`! ${text}`);
  };
  const ended: { ordinal: number; term: number; at: number }[] = [];
  const faults = {
    note,
    end(ordinal: number): void {
      const host = world.host(ordinal);
      if (!host.up || !host.server.alive) return;
      note(`server ${ordinal} is killed`);
      if (host.server.open && !host.server.forClone) noteEnded(ordinal);
      endServer(world, host);
    },
    cut: world.cut,
    powerOff(ordinal: number): void {
      note(`host ${ordinal} loses power`);
      const host = world.host(ordinal);
      endServer(world, host);
      host.up = false;
      for (const { server } of world.hosts) if (server.source === ordinal) server.onTheWay = new Map();
      host.keeper.alive = false;
      host.proxy.forwards = [false, false, false];
    },
    powerOn(ordinal: number): void {
      const host = world.host(ordinal);
      if (host.up) return;
      host.up = true;
      host.boot = world.newBoot();
      host.proxy.missedChecks = 0;
      startGatekeeper(world, host);
      world.say(`host ${ordinal} boots`);
    },
    /** The link to one replica, or to both. */
    fill(ordinal: number, to: readonly number[]): void {
      note(`the link of ${ordinal} to ${to.join(" and ")} is full`);
      world.host(ordinal).fullTo = new Set(to);
    },
    endGatekeeper(ordinal: number, ms: number): void {
      const host = world.host(ordinal);
      if (!host.up || !host.keeper.alive) return;
      note(`gatekeeper ${ordinal} is away for ${ms} ms`);
      host.keeper.alive = false;
      world.after(ms, () => {
        if (host.up && !host.keeper.alive) startGatekeeper(world, host);
      });
    },
    /** These hosts, together, from all others and from the control plane. */
    isolate(together: readonly number[], isCut: boolean): void {
      note(`hosts ${together.join(" and ")} are ${isCut ? "cut off" : "connected again"}`);
      for (const ordinal of together) {
        world.host(ordinal).reachesUs = !isCut;
        for (const other of othersOf(ordinal)) if (!together.includes(other)) faults.cut(ordinal, other, isCut);
      }
    },
    /** Every fault ends. */
    heal(): void {
      for (const ordinal of ordinals) {
        const host = world.host(ordinal);
        for (const other of othersOf(ordinal)) faults.cut(ordinal, other, false);
        host.reachesUs = true;
        host.fullTo.clear();
        faults.powerOn(ordinal);
        if (!host.keeper.alive) startGatekeeper(world, host);
      }
      world.say("all faults have ended");
    },
  };
  function noteEnded(ordinal: number): void {
    const { term } = control.primary();
    const isSecond = ended.some((each) => each.term < term && world.now() - each.at <= 5000);
    if (isSecond) world.happens("two primaries lost within 5 s");
    ended.push({ ordinal, term, at: world.now() });
  }
  return faults;
}
export type Faults = ReturnType<typeof createFaults>;

type Context = { world: World; control: ControlPlane; faults: Faults; any: Host; primary: Host };
type Act = (context: Context) => Process;

const atOnce = (act: (context: Context) => void): Act =>
  function* (context) {
    act(context);
    yield 0;
  };

/** For a while. */
const during = (world: World, [least, most]: readonly [number, number], end: () => void): void =>
  world.after(world.between(least, most), end);

/** Longer than it takes until a tenant may promote over the primary. */
const longCut = [31_000, 60_000] as const;

/** The primary, alone or with another member, until a tenant has promoted the rest; then one link after the other heals. */
function* isolateAndPromote({ world, control, faults, primary }: Context): Process {
  const together = [primary.ordinal];
  if (world.random.chance(0.5)) together.push(world.random.oneOf(othersOf(primary.ordinal)));
  faults.isolate(together, true);
  for (let tries = 0; tries < 25 && control.promote() !== undefined; tries++) yield world.between(1000, 2500);
  const links = together.flatMap((one) => othersOf(one).map((other) => () => faults.cut(one, other, false)));
  const gateways = together.map((one) => () => void (world.host(one).reachesUs = true));
  const left = [...links, ...gateways];
  yield world.between(500, 15_000);
  while (left.length > 0) {
    left.splice(world.random.below(left.length), 1)[0]?.();
    yield world.between(1, 5000);
  }
  faults.note(`hosts ${together.join(" and ")} are connected again`);
}

function fillSome(world: World, faults: Faults, { ordinal }: Host): void {
  const others = othersOf(ordinal);
  faults.fill(ordinal, world.random.chance(0.5) ? others : [world.random.oneOf(others)]);
}

/** The primary ends, and once its host has reported that, the host is cut off, alone or with another member. */
function* killAndIsolate({ world, control, faults, primary }: Context): Process {
  const { term } = control.primary();
  faults.end(primary.ordinal);
  for (let waited = 0; waited < 5000 && (primary.used.fenced ?? 0) < term; waited += 50) yield 50;
  if ((primary.used.fenced ?? 0) < term) return;
  yield world.between(300, 1500);
  const together = [primary.ordinal];
  if (world.random.chance(0.5)) together.push(world.random.oneOf(othersOf(primary.ordinal)));
  faults.isolate(together, true);
  during(world, [3000, 20_000], () => faults.isolate(together, false));
}

/** One of the two is cut off for longer than a switchover may take. */
function* handOverAndIsolate({ world, control, faults, primary }: Context): Process {
  const to = world.random.oneOf(othersOf(primary.ordinal));
  if (world.random.chance(0.3)) fillSome(world, faults, primary);
  if (!control.handOver(to)) return;
  yield world.between(1, 600);
  const together = [world.random.oneOf([primary.ordinal, to])];
  faults.isolate(together, true);
  during(world, longCut, () => {
    faults.isolate(together, false);
    primary.fullTo.clear();
  });
}

const acts: readonly Act[] = [
  killAndIsolate,
  handOverAndIsolate,
  isolateAndPromote,
  isolateAndPromote,
  atOnce(function killPrimary({ faults, primary }) {
    faults.end(primary.ordinal);
  }),
  atOnce(function killAny({ faults, any }) {
    faults.end(any.ordinal);
  }),
  function* killTwoPrimaries({ world, control, faults, primary }) {
    faults.end(primary.ordinal);
    const { term } = control.primary();
    for (let waited = 0; waited < 4800; waited += 100) {
      yield 100;
      const next = world.host(control.primaryOrdinal());
      if (control.primary().term > term && next.server.open) return faults.end(next.ordinal);
    }
  },
  atOnce(function cutPower({ world, faults, any }) {
    if (!any.up) return;
    faults.powerOff(any.ordinal);
    during(world, [3000, 20_000], () => faults.powerOn(any.ordinal));
  }),
  atOnce(function cutLink({ world, faults, any: { ordinal } }) {
    const other = (ordinal + 1) % 3;
    faults.note(`link ${ordinal}-${other} is cut`);
    faults.cut(ordinal, other, true);
    during(world, [1000, 15_000], () => faults.cut(ordinal, other, false));
  }),
  atOnce(function isolatePrimary({ world, faults, primary }) {
    faults.isolate([primary.ordinal], true);
    during(world, longCut, () => faults.isolate([primary.ordinal], false));
  }),
  atOnce(function isolatePrimaryWithOne({ world, faults, primary }) {
    const together = [primary.ordinal, world.random.oneOf(othersOf(primary.ordinal))];
    faults.isolate(together, true);
    during(world, longCut, () => faults.isolate(together, false));
  }),
  atOnce(function cutFromUs({ world, faults, any }) {
    faults.note(`host ${any.ordinal} does not reach the control plane`);
    any.reachesUs = false;
    during(world, [1000, 20_000], () => (any.reachesUs = true));
  }),
  atOnce(function endGatekeeper({ world, faults, any }) {
    faults.endGatekeeper(any.ordinal, world.between(300, 6000));
  }),
  function* endGatekeeperAndPrimary({ world, faults, any, primary }) {
    faults.endGatekeeper(any.ordinal, world.between(2000, 6000));
    yield world.between(1, 500);
    faults.end(primary.ordinal);
  },
  atOnce(function fillLink({ world, faults, primary }) {
    fillSome(world, faults, primary);
    during(world, [2000, 8000], () => primary.fullTo.clear());
  }),
  function* fillLinkAndKill({ world, faults, primary }) {
    fillSome(world, faults, primary);
    during(world, [3000, 8000], () => primary.fullTo.clear());
    yield world.between(1000, 2500);
    faults.end(primary.ordinal);
  },
  atOnce(function handOver({ world, control, primary }) {
    control.handOver(world.random.oneOf(othersOf(primary.ordinal)));
  }),
  function* handOverAndKill({ world, control, faults, any, primary }) {
    if (!control.handOver(world.random.oneOf(othersOf(primary.ordinal)))) return;
    yield world.between(1, 1500);
    faults.end(any.ordinal);
  },
  function* promote({ world, control }) {
    yield world.between(0, 32_000);
    control.promote();
  },
  function* promoteWhenAllowed({ world, control }) {
    for (let tries = 0; tries < 20; tries++) {
      if (control.promote() === undefined) return;
      yield world.between(1000, 3000);
    }
  },
];

/** Random faults until `end`. */
export function* runFaults(world: World, control: ControlPlane, faults: Faults, end: number): Process {
  while (world.now() < end) {
    yield world.between(500, 9000);
    const context = {
      world,
      control,
      faults,
      any: world.host(world.random.oneOf(ordinals)),
      primary: world.host(control.primaryOrdinal()),
    };
    world.start(world.random.oneOf(acts)(context));
  }
}
