import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { pidOf } from "../../tools/stack/control.ts";

const PARTS = ["api", "worker", "fleet", "temporal", "postgres"];
const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

export type Cpu = Record<string, number>;

/** CPU seconds so far of every control-plane process, with its running and ended children. */
export function cpuByPart(): Cpu {
  const processes = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readStat);
  return Object.fromEntries(PARTS.map((part) => [part, treeOf(pidOf(part), processes)]));
}

export const minus = (a: Cpu, b: Cpu): Cpu =>
  Object.fromEntries(Object.keys(a).map((part) => [part, (a[part] ?? 0) - (b[part] ?? 0)]));

/** CPU seconds of one process, including its threads. */
export const processSeconds = (pid: number | undefined): number =>
  (readStat(String(pid))[0]?.ticks ?? 0) / ticksPerSecond;

type Stat = { pid: number; parent: number; ticks: number };

function readStat(pid: string): Stat[] {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
    return [{ pid: Number(pid), parent: Number(fields[1]), ticks }];
  } catch {
    return [];
  }
}

function treeOf(root: number | undefined, all: readonly Stat[]): number {
  const own = all.filter(({ pid }) => pid === root).reduce((sum, { ticks }) => sum + ticks, 0) / ticksPerSecond;
  return (
    own +
    all
      .filter(({ parent }) => parent === root && root !== undefined)
      .reduce((sum, { pid }) => sum + treeOf(pid, all), 0)
  );
}
