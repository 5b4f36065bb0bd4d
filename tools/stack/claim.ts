import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withLock } from "./lock.ts";
import { inStack, machineDir, stackDir, stackName } from "./paths.ts";

/**
 * Stacks of this and other checkouts run side by side, each in a slot of the machine. The unnamed stack has slot 0,
 * with the ports and names that the documents show; a named stack takes the first free slot. The claim on a slot
 * prevents two stacks from using it, and the `down` of one from removing what belongs to another.
 */
const mostNamed = 15;
export const slotDir = (slot: number): string => join(machineDir, String(slot));
const claimFile = (slot: number): string => join(slotDir(slot), "stack");

/** A named stack keeps its slot until it is wiped: its database and certificates contain addresses of the slot. */
export const slotFile = inStack("slot");

const textOf = (file: string): string | undefined => (existsSync(file) ? readFileSync(file, "utf8").trim() : undefined);

/** A claim is void when the stack's directory no longer exists. */
function ownerOf(slot: number): string | undefined {
  const owner = textOf(claimFile(slot));
  return owner !== undefined && existsSync(owner) ? owner : undefined;
}

/** Created before everything else and removed after everything else: without a claim there is nothing to remove. */
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

/**
 * Removes everything of the slot. A stack that stays on disk keeps its claim, so that no other stack gets its
 * addresses.
 */
export async function releaseSlot(slot: number, wipe: boolean): Promise<void> {
  if (wipe || stackName === "") return rm(slotDir(slot), { recursive: true, force: true });
  for (const name of await readdir(slotDir(slot)))
    if (name !== "stack") await rm(join(slotDir(slot), name), { recursive: true, force: true });
}
