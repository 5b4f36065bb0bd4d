import { readdirSync, readFileSync } from "node:fs";
import { inStack } from "../../tools/stack/paths.ts";

const WARN = 40;
const KEPT = 4;

/** The warnings of our processes since then, the last few lines of each: printed beside the name of a failed trial. */
export function warningsSince(since: number): string[] {
  return readdirSync(inStack("log")).flatMap((service) =>
    readFileSync(inStack("log", service, "current"), "utf8")
      .split("\n")
      .flatMap((line) => warningIn(line, since) ?? [])
      .slice(-KEPT)
      .map((warning) => `${service}: ${warning}`),
  );
}

function warningIn(line: string, since: number): string | undefined {
  try {
    const { level, time, msg, err } = JSON.parse(line) as {
      level?: number;
      time?: number;
      msg?: string;
      err?: { message?: string };
    };
    if (level === undefined || time === undefined || level < WARN || time < since) return undefined;
    return `${new Date(time).toISOString()} ${msg}${err?.message === undefined ? "" : `: ${err.message}`}`;
  } catch {
    return undefined;
  }
}
