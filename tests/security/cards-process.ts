import { readFileSync } from "node:fs";

/** The environment of the process, and what a crash of it would leave behind. */
export function requireSilentProcess(pid: number): void {
  const of = (file: string): string => readFileSync(`/proc/${pid}/${file}`, "utf8");
  const [, soft, hard] = /^Max core file size +(\S+) +(\S+)/m.exec(of("limits")) ?? [];
  if (soft !== "1" || hard !== "1") throw new Error(`cards could leave a core dump: ${soft}, ${hard}`);
  const known = of("environ").split("\0");
  const tooMuch = known.filter((each) => /^(DATABASE_URL|VALKEY_URL|TEMPORAL_|MOORAGE_KEYS|MOORAGE_S3)/.test(each));
  if (tooMuch.length > 0)
    throw new Error(`cards knows too much: ${tooMuch.map((each) => each.split("=")[0]).join(", ")}`);
}
