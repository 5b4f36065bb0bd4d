import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withLock } from "./lock.ts";
import { inStack, machineDir, stackDir, stackName } from "./paths.ts";

/**
 * Stacks run side by side, of this checkout and of others, each in a slot of the machine. The stack without a name has
 * slot 0, with the ports and names that the documents show; a named one takes the first slot that is free. The claim of
 * a slot keeps two stacks from using it, and the `down` of one from removing what belongs to the other.
 */
const mostNamed = 15;
export const slotDir = (slot: number): string => join(machineDir, String(slot));
const claimFile = (slot: number): string => join(slotDir(slot), "stack");

/** A named stack keeps its slot until it is wiped: its database and its certificates hold addresses of the slot. */
export const slotFile = inStack("slot");

const textOf = (file: string): string | undefined => (existsSync(file) ? readFileSync(file, "utf8").trim() : undefined);

/** The claim of a stack whose directory is gone counts for nothing. */
function ownerOf(slot: number): string | undefined {
  const owner = textOf(claimFile(slot));
  return owner !== undefined && existsSync(owner) ? owner : undefined;
}

/** Made before anything else and removed after everything else: without it there is nothing of ours to remove. */
export const isClaimed = (slot: number): boolean => textOf(claimFile(slot)) === stackDir;

export const claimSlot = (): Promise<void> =>
  withLock("slots", async () => {
    const kept = stackName === "" ? "0" : textOf(slotFile);
    const slot = kept === undefined ? freeSlot() : Number(kept);
    const other = ownerOf(slot);
    if (other !== undefined && other !== stackDir) throw new Error(takenBy(other));
    await mkdir(slotDir(slot), { recursive: true });
    await writeFile(claimFile(slot), `${stackDir}\n`);
    await mkdir(stackDir, { recursive: true });
    if (stackName !== "") await writeFile(slotFile, `${slot}\n`);
  });

const takenBy = (other: string): string =>
  stackName === ""
    ? `Another stack without a name is up, ${other}: end it (pnpm stack down, there) or give this one a name (--name).`
    : `The slot of the stack "${stackName}" was given to ${other} since: wipe one of the two (pnpm stack down --wipe).`;

function freeSlot(): number {
  const numbers = Array.from({ length: mostNamed }, (_, index) => index + 1);
  const free = numbers.find((slot) => ownerOf(slot) === undefined);
  if (free !== undefined) return free;
  throw new Error(`All slots are taken; wipe a stack that is not needed:\n${numbers.map(ownerOf).join("\n")}`);
}

/** Everything of the slot but, for a stack that stays on disk, the claim: no other may get its addresses meanwhile. */
export async function releaseSlot(slot: number, wipe: boolean): Promise<void> {
  if (wipe || stackName === "") return rm(slotDir(slot), { recursive: true, force: true });
  for (const name of await readdir(slotDir(slot)))
    if (name !== "stack") await rm(join(slotDir(slot), name), { recursive: true, force: true });
}
