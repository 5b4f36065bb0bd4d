import type { Outcome, Script } from "./simulate.ts";
import { gtidOf } from "./servers.ts";
import { countMissing, textOf } from "./transactions.ts";
import { ordinals } from "./world.ts";

/** A fault in known steps, and the most acknowledged writes that it may cost besides those that only a lost host had. */
export type Directed = { name: string; script: Script; ms: number; mostLost: number };

const onlyThere = "transactions that only the lost host had";

/** The primary and node 1, together, are cut off; the tenant promotes node 2, which no other host hears of. */
const promoteTheOther: Script = function* (world, control, faults) {
  faults.isolate([0, 1], true);
  yield 32_000;
  const refusal = control.promote();
  if (refusal !== undefined) world.violate(`the tenant may not promote: ${refusal}`);
};

export const directed: readonly Directed[] = [
  {
    name: "A: promoted while two are cut off; the old primary's host dies, and the replica that has everything is back",
    ms: 110_000,
    mostLost: 0,
    *script(world, control, faults) {
      yield* promoteTheOther(world, control, faults);
      yield 28_000;
      // On their way to the replica.
      const [lost, kept] = [world.host(0).server, gtidOf(world.host(1).server)];
      world.happened.set(onlyThere, countMissing(lost.executed, kept));
      faults.powerOff(0);
      faults.cut(1, 2, false);
      world.host(1).reachesUs = true;
    },
  },
  {
    name: "B: promoted while two are cut off; they are back, over a full link",
    ms: 110_000,
    mostLost: 0,
    *script(world, control, faults) {
      yield* promoteTheOther(world, control, faults);
      yield 28_000;
      faults.fill(0, [1, 2]);
      faults.isolate([0, 1], false);
      yield 40_000;
      world.host(0).fullTo.clear();
    },
  },
  {
    name: "C: promoted while two are cut off, and not carried out: the promotion is withdrawn and nothing is lost",
    ms: 200_000,
    mostLost: 0,
    *script(world, control, faults) {
      yield* promoteTheOther(world, control, faults);
      yield 125_000;
      if (control.primaryOrdinal() !== 0) world.violate("the promotion is still wanted");
    },
  },
  {
    name: "D: two primaries end within seconds, while the first one has more transactions that were not compared yet",
    ms: 60_000,
    mostLost: Infinity,
    *script(world, control, faults) {
      faults.fill(0, [1, 2]);
      yield 15_000;
      faults.end(0);
      world.host(0).fullTo.clear();
      while (control.primary().term < 2 || !world.host(0).server.alive) yield 20;
      yield 700;
      faults.end(control.primaryOrdinal());
      world.say(ordinals.map((ordinal) => textOf(world.host(ordinal).server.executed)).join(" | "));
    },
  },
  {
    name: "E: promoted as soon as its replicas lose a primary that we have not heard of for half a minute",
    ms: 110_000,
    mostLost: Infinity,
    *script(world, control, faults) {
      world.host(0).reachesUs = false;
      yield 32_000;
      faults.isolate([0], true);
      while (control.promote() !== undefined) yield 20;
      yield 28_000;
      faults.isolate([0], false);
      world.host(0).reachesUs = true;
    },
  },
  {
    name: "F: a primary ends; the only replica that we reach never followed it, and has what was reported as lost",
    ms: 130_000,
    mostLost: 0,
    *script(world, control, faults) {
      faults.fill(0, [1]);
      yield 8000;
      faults.isolate([2], true);
      faults.end(0);
      world.host(0).fullTo.clear();
      const [first, next] = [world.host(0).server, world.host(1).server];
      while (!next.open) yield 20;
      world.happened.set(onlyThere, countMissing(first.executed, next.executed));
      while (first.source !== 1 || first.receiving !== "on" || control.reclones.size > 0) yield 20;
      yield 5000;
      faults.isolate([0], true);
      faults.cut(1, 2, true);
      world.host(2).reachesUs = true;
      yield 3000;
      const { term } = control.primary();
      faults.end(1);
      while (control.primary().term === term) yield 20;
      faults.cut(1, 2, false);
      yield 10_000;
      faults.isolate([0], false);
    },
  },
];

export function faultOf({ mostLost }: Directed, { lost, violations, happened }: Outcome): string | undefined {
  const most = mostLost + (happened.get(onlyThere) ?? 0);
  return violations[0] ?? (lost > most ? `${lost} acknowledged writes are lost, at most ${most} may be` : undefined);
}
