import { createHash } from "node:crypto";
import { runAgent } from "./agents.ts";
import { checkEnd, isLive, type Losses } from "./checks.ts";
import { type ControlPlane, createControlPlane, runControlPlane, runPolls, runReports } from "./control-plane.ts";
import { createFaults, type Faults, runFaults } from "./faults.ts";
import { runAsking, runClients, runProxyChecks, runSampling, runVerdicts } from "./gatekeepers.ts";
import { type Rules, shippedRules } from "./rules.ts";
import type { Process } from "./schedule.ts";
import { runServers } from "./servers.ts";
import { createWorld, othersOf, type World } from "./world.ts";

export type Script = (world: World, control: ControlPlane, faults: Faults) => Process;

export type Outcome = Losses & {
  seed: number;
  acknowledged: number;
  violations: readonly string[];
  happened: ReadonlyMap<string, number>;
  trace: readonly string[];
  /** Of the whole trace. */
  hash: string;
};

/** Random faults for this long, or the time of a script. */
const faultsMs = 100_000;
const firstFaultMs = 2000;
/** Operations that wait for a tenant or a timeout end before the faults do. */
const lastFaultMs = 85_000;
const healMs = 60_000;
/** A live cluster is watched for a while longer. */
const settledMs = 3000;

type Options = { rules?: Partial<Rules>; script?: Script; ms?: number };

/** One asynchronous cluster of three on a virtual clock. The same seed is the same run. */
export function simulate(seed: number, { rules = {}, script, ms = faultsMs }: Options = {}): Outcome {
  const world = createWorld(seed, { ...shippedRules, ...rules });
  const control = createControlPlane(world);
  const faults = createFaults(world, control);
  startProcesses(world, control);
  world.after(firstFaultMs, () =>
    world.start(script?.(world, control, faults) ?? runFaults(world, control, faults, lastFaultMs)),
  );
  let liveSince: number | undefined;
  let isOver = false;
  const watch = function* (): Process {
    yield ms;
    faults.heal();
    for (let end = world.now() + healMs; world.now() < end && !isOver; ) {
      yield 500;
      if (!isLive(world, control)) liveSince = undefined;
      else liveSince ??= world.now();
      if (control.isRepairLater()) end = world.now() + healMs;
      isOver = liveSince !== undefined && world.now() - liveSince >= settledMs;
      if (control.judge(control.members()).next.do === "ask") control.promote();
    }
    isOver = true;
  };
  world.start(watch());
  world.runUntil(() => isOver);
  if (liveSince === undefined) world.violate(`the cluster is not whole ${healMs / 1000} s after the last fault`);
  const losses = checkEnd(world, control);
  return outcomeOf(world, losses);
}

function outcomeOf({ seed, acknowledged, violations, happened, trace }: World, losses: Losses): Outcome {
  const end = `${acknowledged.length} acknowledged, ${losses.lost} lost`;
  const hash = createHash("sha256")
    .update([...trace, end].join("\n"))
    .digest("hex")
    .slice(0, 16);
  return { ...losses, seed, acknowledged: acknowledged.length, violations, happened, trace, hash };
}

function startProcesses(world: World, control: ControlPlane): void {
  for (const host of world.hosts) {
    const others = othersOf(host.ordinal).map((ordinal) => world.host(ordinal));
    world.start(runSampling(world, host));
    for (const other of others) world.start(runAsking(world, host, other));
    world.start(runVerdicts(world, host));
    world.start(runProxyChecks(host));
    world.start(runAgent(world, host));
    world.start(runClients(world, host));
    world.start(runReports(world, control, host));
    world.start(runPolls(world, control, host));
  }
  world.start(runServers(world));
  world.start(runControlPlane(world, control));
}
