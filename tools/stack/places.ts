import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Where things are, computed from this file: no absolute path is ever committed. */
export const repo = resolve(import.meta.dirname, "../..");
export const stackDir = join(repo, ".stack");
export const inStack = (...parts: string[]): string => join(stackDir, ...parts);
/** Every letter that the stack sends, as a file. */
export const mailDir = inStack("mail");

const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
export const partsDir = process.env["MOORAGE_PARTS"] ?? join(cache, "moorage-parts");
export const inParts = (...parts: string[]): string => join(partsDir, ...parts);
export const enginesDir = inParts("engines");

/** What must not outlive a reboot: podman tells a reboot by the loss of this folder. */
export const volatileDir = "/run/moorage";

export const node = inParts("bin", "node");
