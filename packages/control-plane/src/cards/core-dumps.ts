import { readFileSync } from "node:fs";

/** With a limit of 1 byte Linux writes no core dump to a file or a pipe; with 0 it still starts the handler program. */
const MOST_BYTES = 1;

/** A core dump copies the process memory to disk, possibly with a card in it. */
export function requireNoCoreDumps(limits = limitsOfThisProcess()): void {
  const [, soft, hard] = /^Max core file size +(\S+) +(\S+)/m.exec(limits ?? "") ?? [];
  if (soft === undefined || hard === undefined) return;
  const most = Math.max(...[soft, hard].map((each) => (each === "unlimited" ? Infinity : Number(each))));
  if (most > MOST_BYTES)
    throw new Error(
      "cards must not leave core dumps. Start it with a limit of one byte: LimitCORE=1 in a unit of systemd, or prlimit --core=1:1 before the command.",
    );
}

/** Undefined: not Linux. */
function limitsOfThisProcess(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return undefined;
  }
}
