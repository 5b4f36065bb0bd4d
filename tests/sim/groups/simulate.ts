import { createHash } from "node:crypto";
import { runAsking, runProxyChecks, runVerdicts } from "../gatekeepers.ts";
import type { Process } from "../schedule.ts";
import type { Outcome } from "../simulate.ts";
import { othersOf } from "../world.ts";
import { ownView, runAgent } from "./agents.ts";
import { createGroupControl, type GroupControl, runControl, runPolls, runReports } from "./control-plane.ts";
import { runEngine } from "./engine.ts";
import { createGroupFaults, runGroupFaults } from "./faults.ts";
import { runClients, runSampling } from "./gatekeepers.ts";
import { type GroupRules, shippedGroupRules } from "./rules.ts";
import { createGroupWorld, type GroupWorld } from "./world.ts";

const [faultsMs, firstFaultMs, lastFaultMs] = [100_000, 2000, 75_000];
/** Two members that rejoin one after the other wait for an invitation of 30 s each. */
const healMs = 120_000;
const settledMs = 3000;

/** One semi-synchronous cluster on a virtual clock: random faults, then all of them end. */
export function simulateGroup(seed: number, rules: Partial<GroupRules> = {}): Outcome {
  const world = createGroupWorld(seed, { ...shippedGroupRules, ...rules });
  const control = createGroupControl(world);
  const faults = createGroupFaults(world);
  const isLossy = (): boolean => faults.isLossy;
  for (const host of world.hosts) {
    world.start(runSampling(world, host));
    for (const other of othersOf(host.ordinal)) world.start(runAsking(world, host, world.host(other), ownView));
    world.start(runVerdicts(world, host));
    world.start(runAgent(world, host));
    world.start(runClients(world, host));
    world.start(runProxyChecks(host));
    world.start(runReports(world, control, host, isLossy));
    world.start(runPolls(world, control, host));
  }
  world.start(runEngine(world));
  world.start(runControl(world, control, isLossy));
  world.after(firstFaultMs, () => world.start(runGroupFaults(world, control, faults, lastFaultMs)));
  let liveSince: number | undefined;
  let isOver = false;
  const watch = function* (): Process {
    yield faultsMs;
    faults.heal();
    for (let end = world.now() + healMs; world.now() < end && !isOver; ) {
      yield 500;
      if (!isLive(world, control)) liveSince = undefined;
      else liveSince ??= world.now();
      if (control.isRepairLater()) end = world.now() + healMs;
      isOver = liveSince !== undefined && world.now() - liveSince >= settledMs;
    }
    isOver = true;
  };
  world.start(watch());
  world.runUntil(() => isOver);
  if (liveSince === undefined) world.violate(`the group is not whole ${healMs / 1000} s after the last fault`);
  return outcomeOf(world);
}

/** Three members that are online in one group, and every proxy forwards to its primary, and to nobody else. */
function isLive(world: GroupWorld, control: GroupControl): boolean {
  const [group] = world.groups;
  if (group === undefined || !control.isIdle()) return false;
  const isWhole = world.hosts.every(({ server }) => server.group === group.id && server.state === "online");
  const isServed = world.hosts.every(({ proxy }) =>
    proxy.forwards.every((is, ordinal) => is === (ordinal === group.primary)),
  );
  return isWhole && isServed && control.members().every(({ report }) => report?.shared === true);
}

function outcomeOf(world: GroupWorld): Outcome {
  const { seed, acknowledged, trace, happened, violations } = world;
  const has = new Set(world.groups[0]?.log ?? []);
  const lost = acknowledged.filter((each) => !has.has(each)).length;
  if (lost > 0) world.violate(`${lost} acknowledged writes are lost`);
  const hash = createHash("sha256")
    .update([...trace, `${acknowledged.length} acknowledged`].join("\n"))
    .digest("hex")
    .slice(0, 16);
  return { seed, acknowledged: acknowledged.length, lost, unreported: lost, violations, happened, trace, hash };
}
