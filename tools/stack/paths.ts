import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Paths are computed from the location of this file: no absolute path is ever committed. */
export const repo = resolve(import.meta.dirname, "../..");

/** Which stack of this checkout: the unnamed one is in `.stack`. `pnpm stack --name NAME` sets the variable. */
export const stackName = process.env["MOORAGE_STACK"] ?? "";
if (!/^([a-z0-9][a-z0-9-]{0,15})?$/.test(stackName)) {
  throw new Error(`"${stackName}" is no name of a stack: use up to 16 of a-z, 0-9 and "-".`);
}
export const stackDir = stackName === "" ? join(repo, ".stack") : join(repo, ".stacks", stackName);
export const inStack = (...parts: string[]): string => join(stackDir, ...parts);
/** Every mail that the stack sends, as a file. */
export const mailDir = inStack("mail");

const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
export const partsDir = process.env["MOORAGE_PARTS"] ?? join(cache, "moorage-parts");
export const inParts = (...parts: string[]): string => join(partsDir, ...parts);
export const enginesDir = inParts("engines");

/** What all stacks of the machine share besides the built parts: the claims on slots. It does not survive a reboot. */
export const machineDir = "/run/moorage";

export const node = inParts("bin", "node");
