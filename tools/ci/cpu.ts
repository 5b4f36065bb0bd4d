import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** The kernel counts in hundredths of a second. */
const TICKS = 100;

/** Processor time of this process's children that have ended, with that of theirs. */
export function cpuOfChildren(): number {
  // After the name, which may contain anything: state, parent, … ; the 14th and 15th are cutime and cstime.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

/** Of the machine's processors, whoever used them: the parts of a stack are no children of the stage that uses them. */
export function cpuOfMachine(): number {
  const ms = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq);
  return ms.reduce((sum, each) => sum + each, 0) / 1000;
}

export const processors = cpus().length;
