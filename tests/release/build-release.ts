import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

const repository = join(import.meta.dirname, "../..");

declare module "vitest" {
  export interface ProvidedContext {
    release: string;
  }
}

/** Builds the release of the commit of `of` in a clone of its own, as a person with a clean checkout does. */
export function buildRelease(within: string, of = repository): string {
  const clone = join(within, "checkout");
  const out = join(within, "dist");
  execFileSync("git", ["clone", "--quiet", "--no-local", of, clone]);
  const run = (...command: [string, ...string[]]): void => {
    const [program, ...args] = command;
    execFileSync(program, args, { cwd: clone, stdio: ["ignore", "ignore", "inherit"] });
  };
  run("pnpm", "install", "--frozen-lockfile", "--prefer-offline", "--reporter=silent");
  run(process.execPath, "tools/release/release.ts", "--out", out);
  return out;
}

const folder = mkdtempSync(join(tmpdir(), "moorage-release-test-"));

/** One build for all tests. */
export const setup = (project: TestProject): void => project.provide("release", buildRelease(folder));
export const teardown = (): void => rmSync(folder, { recursive: true, force: true });
