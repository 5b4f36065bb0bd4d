import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Fault } from "@moorage/crash-points";
import { env } from "../kit/stack-env.ts";

/** The folder through which the running processes learn where to fail: see @moorage/crash-points. */
const at = (name: string): string => join(env("MOORAGE_STACK_DIR"), "crash", name);

/** Every step that the running processes announced. */
export const announcedSteps = (): string[] =>
  [
    ...new Set(
      readdirSync(at("steps")).flatMap((file) => JSON.parse(readFileSync(at(`steps/${file}`), "utf8")) as string[]),
    ),
  ].sort();

export function arm(fault: Fault): void {
  disarm();
  writeFileSync(at("armed.new"), JSON.stringify(fault));
  renameSync(at("armed.new"), at("armed"));
}

export function disarm(): void {
  for (const name of ["armed", "fired"]) rmSync(at(name), { force: true });
}

export type Fired = Fault & { pid: number; at: string };

/** Undefined until the step was reached. The process writes it completely before it dies. */
export function fired(): Fired | undefined {
  if (!existsSync(at("fired"))) return undefined;
  const found = JSON.parse(readFileSync(at("fired"), "utf8")) as Partial<Fired>;
  return found.pid === undefined ? undefined : (found as Fired);
}

/** The steps that were passed while `work` ran. */
export async function traced(work: () => Promise<unknown>): Promise<string[]> {
  writeFileSync(at("trace"), "");
  try {
    await work();
    return [...new Set(readFileSync(at("trace"), "utf8").split("\n").filter(Boolean))].sort();
  } finally {
    rmSync(at("trace"), { force: true });
  }
}
