import { startGatekeeper } from "../gatekeepers.ts";
import type { Process } from "../schedule.ts";
import { ordinals, othersOf } from "../world.ts";
import type { GroupControl } from "./control-plane.ts";
import { endServer } from "./engine.ts";
import type { GroupHost, GroupWorld } from "./world.ts";

export function createGroupFaults(world: GroupWorld) {
  const faults = {
    isLossy: false,
    end({ ordinal }: GroupHost): void {
      const host = world.host(ordinal);
      if (!host.up || !host.server.alive) return;
      world.say(`! server ${ordinal} is killed`);
      endServer(world, host);
    },
    endAgent(host: GroupHost, ms: number): void {
      world.say(`! agent ${host.ordinal} is away for ${ms} ms`);
      host.agentUp = false;
      host.boot = world.newBoot();
      world.after(ms, () => (host.agentUp = true));
    },
    endGatekeeper(host: GroupHost, ms: number): void {
      world.say(`! gatekeeper ${host.ordinal} is away for ${ms} ms`);
      host.keeper.alive = false;
      world.after(ms, () => {
        if (host.up && !host.keeper.alive) startGatekeeper(world, host);
      });
    },
    powerOff(host: GroupHost): void {
      world.say(`! host ${host.ordinal} loses power`);
      endServer(world, host);
      Object.assign(host, { up: false, boot: world.newBoot() });
      host.keeper.alive = false;
      host.proxy.forwards = [false, false, false];
    },
    powerOn(host: GroupHost): void {
      if (host.up) return;
      host.up = true;
      host.proxy.missedChecks = 0;
      startGatekeeper(world, host);
      world.say(`host ${host.ordinal} boots`);
    },
    isolate(ordinal: number, isCut: boolean): void {
      world.say(`! host ${ordinal} is ${isCut ? "cut off" : "connected again"}`);
      world.host(ordinal).reachesUs = !isCut;
      for (const other of othersOf(ordinal)) world.cut(ordinal, other, isCut);
    },
    heal(): void {
      for (const host of world.hosts) {
        for (const other of othersOf(host.ordinal)) world.cut(host.ordinal, other, false);
        Object.assign(host, { reachesUs: true, agentUp: true });
        faults.powerOn(host);
        if (!host.keeper.alive) startGatekeeper(world, host);
      }
      faults.isLossy = false;
      world.say("all faults have ended");
    },
  };
  return faults;
}
type Faults = ReturnType<typeof createGroupFaults>;
type Context = { world: GroupWorld; control: GroupControl; faults: Faults; any: GroupHost; primary: GroupHost };

const later = (world: GroupWorld, least: number, most: number, end: () => void): void =>
  world.after(world.between(least, most), end);

type Act = (context: Context) => void;

const endPrimary: Act = ({ faults, primary }) => faults.end(primary);
const endAny: Act = ({ faults, any }) => faults.end(any);
const cutLink: Act = ({ world, any: { ordinal } }) => {
  const other = (ordinal + 1) % 3;
  world.say(`! link ${ordinal}-${other} is cut`);
  world.cut(ordinal, other, true);
  later(world, 3000, 25_000, () => world.cut(ordinal, other, false));
};
const isolatePrimary: Act = ({ world, faults, primary: { ordinal } }) => {
  faults.isolate(ordinal, true);
  later(world, 3000, 40_000, () => faults.isolate(ordinal, false));
};
const switchOver: Act = ({ control }) => void control.switchOver();

const acts: readonly Act[] = [
  endPrimary,
  endPrimary,
  endAny,
  cutLink,
  cutLink,
  cutLink,
  isolatePrimary,
  isolatePrimary,
  switchOver,
  switchOver,
  /** All of them, at nearly the same time. */
  ({ world, faults }) => {
    for (const host of world.hosts) later(world, 0, 3000, () => faults.end(host));
  },
  ({ world, faults, any, primary }) => {
    faults.end(primary);
    later(world, 1, 5000, () => faults.end(any));
  },
  ({ world, faults, any }) => faults.endAgent(any, world.between(500, 8000)),
  ({ world, faults, primary }) => {
    faults.end(primary);
    for (const host of world.hosts) if (world.random.chance(0.5)) faults.endAgent(host, world.between(500, 8000));
  },
  ({ world, faults, any }) => faults.endGatekeeper(any, world.between(300, 6000)),
  ({ world, faults, any }) => {
    if (!any.up) return;
    faults.powerOff(any);
    later(world, 3000, 25_000, () => faults.powerOn(any));
  },
  /** No majority anywhere. */
  ({ world, faults }) => {
    for (const ordinal of ordinals) faults.isolate(ordinal, true);
    later(world, 3000, 25_000, () => {
      for (const ordinal of ordinals) faults.isolate(ordinal, false);
    });
  },
  ({ world, any }) => {
    world.say(`! host ${any.ordinal} does not reach the control plane`);
    any.reachesUs = false;
    later(world, 1000, 20_000, () => (any.reachesUs = true));
  },
  ({ world, faults }) => {
    world.say("! PostgreSQL's replies are lost, and reports are late");
    faults.isLossy = true;
    later(world, 3000, 25_000, () => (faults.isLossy = false));
  },
  ({ world, control, faults, any }) => {
    if (control.switchOver()) later(world, 1, 1500, () => faults.end(any));
  },
];

export function* runGroupFaults(world: GroupWorld, control: GroupControl, faults: Faults, end: number): Process {
  while (world.now() < end) {
    yield world.between(500, 9000);
    const primary = world.host(world.groups[0]?.primary ?? 0);
    world.random.oneOf(acts)({ world, control, faults, any: world.host(world.random.oneOf(ordinals)), primary });
  }
}
