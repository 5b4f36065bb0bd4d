import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stackDir, volatileDir } from "./places.ts";

/**
 * Addresses, ports and namespaces are the machine's: one stack at a time. The claim keeps a second checkout from
 * taking them, and its `down` from removing what belongs to the first.
 */
const claimFile = join(volatileDir, "stack");

const owner = (): string | undefined => (existsSync(claimFile) ? readFileSync(claimFile, "utf8").trim() : undefined);

/** Made before anything else and removed after everything else: without it there is nothing of ours to remove. */
export const isClaimed = (): boolean => owner() === stackDir;

export async function claimMachine(): Promise<void> {
  const other = owner();
  if (other !== undefined && other !== stackDir && existsSync(other)) {
    throw new Error(`Another stack is up, ${other}: end it first (pnpm stack down, there).`);
  }
  await mkdir(volatileDir, { recursive: true });
  await writeFile(claimFile, `${stackDir}\n`);
}
