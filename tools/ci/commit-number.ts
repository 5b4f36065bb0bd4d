import { execFileSync } from "node:child_process";
import { repo } from "../stack/paths.ts";

/** The number of the commit in its history; in a shallow clone, a number derived from the commit itself. */
export function commitNumber(): number {
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: repo, encoding: "utf8" }).trim();
  if (git("rev-parse", "--is-shallow-repository") === "false") return Number(git("rev-list", "--count", "HEAD"));
  return Number.parseInt(git("rev-parse", "HEAD").slice(0, 8), 16);
}
