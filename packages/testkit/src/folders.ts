import { rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** The programs that bin/setup installs. */
export const partsDir =
  process.env["MOORAGE_PARTS"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "moorage-parts");

/** A process that has just been ended may still be writing to it. */
export const removeFolder = (folder: string): void =>
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
