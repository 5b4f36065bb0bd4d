import { join } from "node:path";
import { inParts } from "../../tools/stack/paths.ts";
import type { Checks } from "./checks.ts";
import type { ClientTarget } from "./client-cells.ts";
import { runProgram } from "./client-program.ts";

export type Api4Version = "5.40.0" | "5.48.0";

/** `linode_api4/day.py`, with the environment that `bin/setup` made for this version. */
export const withLinodeApi4 =
  (version: Api4Version) =>
  (target: ClientTarget, checks: Checks): Promise<void> => {
    const python = inParts("python", `linode_api4-${version}`, "bin", "python");
    const program = join(import.meta.dirname, "linode_api4", "day.py");
    return runProgram(`py${version.replaceAll(".", "")}`, [python, "-B", program], target, checks);
  };
