import { inParts } from "../../tools/stack/paths.ts";
import type { Checks } from "./checks.ts";
import type { ClientTarget } from "./client-cells.ts";
import { runProgram } from "./client-program.ts";

export type LinodegoVersion = "1.60.0" | "1.69.1";

/** `linodego/`, built by `bin/setup` with each version. */
const programOf = (version: LinodegoVersion): string => inParts("bin", `conformance-linodego-${version}`);

export const withLinodego =
  (version: LinodegoVersion) =>
  (target: ClientTarget, checks: Checks): Promise<void> =>
    runProgram(`go${version.replaceAll(".", "")}`, [programOf(version)], target, checks);

/** The Terraform provider's sequence of calls, with the client that it is built on. */
export const asTerraform =
  (version: LinodegoVersion) =>
  (target: ClientTarget, checks: Checks): Promise<void> =>
    runProgram(`tf${version.replaceAll(".", "")}`, [programOf(version), "terraform"], target, checks);
