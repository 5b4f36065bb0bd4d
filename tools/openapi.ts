/**
 * Without arguments: checks that openapi.json and openapi.operator.json match the operation tables, that Redocly reports
 * no problem in them, and that no change of openapi.json breaks clients of the last release.
 *   --write              generates both from the operation tables
 *   --write --release    and makes openapi.json the release that later changes are compared with
 */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createConfig, lint } from "@redocly/openapi-core";
import { openapiDocument } from "../packages/control-plane/src/http/openapi/document.ts";
import { operatorDocument } from "../packages/control-plane/src/http/openapi/operator-document.ts";
import { inParts } from "./stack/paths.ts";

const root = join(import.meta.dirname, "..");
const [tenants, released] = [join(root, "openapi.json"), join(root, "openapi.released.json")];
const documents = {
  [tenants]: JSON.stringify(openapiDocument()),
  [join(root, "openapi.operator.json")]: JSON.stringify(operatorDocument(versionOf(join(root, "package.json")))),
};

if (process.argv.includes("--write")) {
  for (const [file, expected] of Object.entries(documents)) write(file, expected);
  if (process.argv.includes("--release")) copyFileSync(tenants, released);
} else {
  const faults = breaksOf(released, tenants);
  for (const [file, expected] of Object.entries(documents))
    faults.push(...drift(file, expected), ...(await faultsOf(file)));
  for (const fault of faults) console.log(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

function write(file: string, expected: string): void {
  writeFileSync(file, expected);
  execFileSync("biome", ["format", "--write", file], { stdio: "inherit" });
}

function versionOf(file: string): string {
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

function drift(file: string, expected: string): string[] {
  return JSON.stringify(JSON.parse(readFileSync(file, "utf8"))) === expected
    ? []
    : [`${basename(file)} is not what the operation table says. Run \`pnpm openapi\` and review the difference.`];
}

async function faultsOf(document: string): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const problems = await lint({ ref: document, config });
  return problems.map(
    ({ ruleId, message, location }) => `${basename(document)}: ${ruleId}: ${message} (${location[0]?.pointer ?? ""})`,
  );
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
