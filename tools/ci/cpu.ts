import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** The kernel counts in hundredths of a second. */
const TICKS = 100;

/** CPU time of this process's ended children and of their descendants. */
export function cpuOfChildren(): number {
  // The fields after the process name, which may contain any character: state, parent, …; cutime and cstime are the
  // 14th and 15th.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

/** CPU time of the whole machine: the parts of a stack are not children of the stage that uses them. */
export function cpuOfMachine(): number {
  const ms = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq);
  return ms.reduce((sum, each) => sum + each, 0) / 1000;
}

export const processors = cpus().length;
