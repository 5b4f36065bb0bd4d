import { readFileSync } from "node:fs";
import { slotDir, slotFile } from "./claim.ts";
import { stackName } from "./paths.ts";

/** The slot of this stack (see claim.ts). Ports, addresses, links and namespaces are derived from it. */
export const slot = stackName === "" ? 0 : keptSlot();

/** Files that must not survive a reboot: podman detects a reboot by the loss of this folder. */
export const volatileDir = slotDir(slot);

function keptSlot(): number {
  try {
    return Number(readFileSync(slotFile, "utf8"));
  } catch (cause) {
    throw new Error(`There is no stack "${stackName}" here: pnpm stack up --name ${stackName}`, { cause });
  }
}
