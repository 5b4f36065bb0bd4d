/**
 * Without arguments: checks that openapi.json matches the operation table, that Redocly reports no problem in it, and
 * that no change breaks clients of the last release.
 *   --write              generates openapi.json from the operation table
 *   --write --release    and makes it the release that later changes are compared with
 */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createConfig, lint } from "@redocly/openapi-core";
import { openapiDocument } from "../packages/control-plane/src/platform/openapi/document.ts";
import { inParts } from "./stack/paths.ts";

const root = join(import.meta.dirname, "..");
const [file, released] = [join(root, "openapi.json"), join(root, "openapi.released.json")];
const expected = JSON.stringify(openapiDocument());

if (process.argv.includes("--write")) {
  write();
  if (process.argv.includes("--release")) copyFileSync(file, released);
} else {
  const faults = [...drift(), ...(await faultsOf(file)), ...breaksOf(released, file)];
  for (const fault of faults) console.log(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

function write(): void {
  writeFileSync(file, expected);
  execFileSync("biome", ["format", "--write", file], { stdio: "inherit" });
}

function drift(): string[] {
  return JSON.stringify(JSON.parse(readFileSync(file, "utf8"))) === expected
    ? []
    : ["openapi.json is not what the operation table says. Run `pnpm openapi` and review the difference."];
}

async function faultsOf(document: string): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const problems = await lint({ ref: document, config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer ?? ""})`);
}

/** `oasdiff` errors are breaking changes, except new values of enumerations that the interface allows to grow. */
function breaksOf(before: string, after: string): string[] {
  const levels = join(import.meta.dirname, "oasdiff-levels.txt");
  const { status, stdout, stderr, error } = spawnSync(
    inParts("bin", "oasdiff"),
    ["breaking", before, after, "--severity-levels", levels, "--fail-on", "ERR"],
    { encoding: "utf8" },
  );
  if (error !== undefined) return [`oasdiff cannot be run: ${String(error)}. Run bin/setup.`];
  return status === 0 ? [] : [`This breaks clients of the last release (openapi.released.json):\n${stdout}${stderr}`];
}
