/** Compares openapi.json with the operation table; `--write` makes it equal. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openapiDocument } from "../packages/control-plane/src/platform/openapi/document.ts";

const file = join(import.meta.dirname, "..", "openapi.json");
const wanted = JSON.stringify(openapiDocument());

if (process.argv.includes("--write")) {
  writeFileSync(file, wanted);
  execFileSync("biome", ["format", "--write", file], { stdio: "inherit" });
} else if (JSON.stringify(JSON.parse(readFileSync(file, "utf8"))) !== wanted) {
  console.log("openapi.json is not what the operation table says. Run `pnpm openapi` and review the difference.");
  process.exitCode = 1;
}
