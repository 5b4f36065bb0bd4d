/** Generates README's feature table from `features.ts`. Without `--write`: fails if README differs from it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Feature, features } from "./features.ts";

const root = join(import.meta.dirname, "..");
const readme = join(root, "README.md");
const between = /(<!-- features: begin.*-->\n)[^]*(<!-- features: end -->)/;

const suites: readonly [start: string, suite: string][] = [
  ["tests/system/", "system"],
  ["tests/faults/", "faults"],
  ["tests/conformance/", "conformance"],
  ["tests/hostile/", "hostile"],
  ["tests/security/", "security"],
];

function proof(path: string): string {
  const file = join(root, path);
  if (!existsSync(file)) throw new Error(`tools/features.ts names a proof that does not exist: ${path}`);
  if (/\b(?:test|it|describe)\.(?:skip|todo)\b/.test(readFileSync(file, "utf8")))
    throw new Error(`tools/features.ts names a proof with tests that are skipped: ${path}`);
  const suite = suites.find(([start]) => path.startsWith(start))?.[1] ?? "integration";
  const name = basename(path).replace(/(?:\.integration)?(?:\.test)?\.ts$/, "");
  return `[${name === "run" ? suite : `${suite}: ${name}`}](${path})`;
}

const row = ({ does, proofs }: Feature): string =>
  `| ${does} | ${proofs.length === 0 ? "not yet | " : `works | ${proofs.map(proof).join(", ")}`} |`;

const table = ["| feature | status | proved by |", "|---|---|---|", ...features.map(row), ""].join("\n");
const text = readFileSync(readme, "utf8");
if (!between.test(text))
  throw new Error("README.md lacks the lines <!-- features: begin --> and <!-- features: end -->.");
const made = text.replace(between, (_, begin: string, end: string) => `${begin}${table}${end}`);

if (process.argv.includes("--write")) writeFileSync(readme, made);
else if (made !== text) {
  console.error("README's feature table is not the one of tools/features.ts: run pnpm features.");
  process.exitCode = 1;
}
