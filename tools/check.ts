/** All static checks of the code. */
import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";

const root = join(import.meta.dirname, "..");
const path = [join(root, "node_modules", ".bin"), process.env["PATH"]].join(delimiter);

const checks = {
  types: ["tsc", "-p", "tsconfig.json"],
  lint: ["oxlint", "--type-aware", "--deny-warnings"],
  format: ["biome", "format", "."],
  complexity: ["biome", "lint", "."],
  unused: ["knip"],
  architecture: ["vitest", "run", "--project", "unit", "--reporter", "default", "tests/architecture.test.ts"],
  openapi: ["node", "tools/openapi.ts"],
  features: ["node", "tools/feature-table.ts"],
  drills: ["node", "tools/drill-table.ts"],
  messages: ["node", "tools/messages-page.ts"],
  settings: ["node", "tools/settings-page.ts"],
  waysOut: ["node", "tools/ways-out-page.ts"],
  schema: ["node", "tools/schema.ts"],
  words: ["node", "tools/banned-words.ts"],
};

type Outcome = { name: string; passed: boolean; output: string };

function run(name: string, [program = "", ...args]: string[]): Promise<Outcome> {
  const started = performance.now();
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, PATH: path, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve) => {
    const end = (passed: boolean) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      console.log(`${passed ? "ok    " : "FAILED"} ${name.padEnd(12)} ${seconds} s`);
      resolve({ name, passed, output });
    };
    child.on("error", (error) => {
      output += String(error);
      end(false);
    });
    child.on("close", (code) => end(code === 0));
  });
}

const outcomes = await Promise.all(Object.entries(checks).map(([name, command]) => run(name, command)));
const failed = outcomes.filter((outcome) => !outcome.passed);
for (const { name, output } of failed) console.log(`\n--- ${name}\n${output.trim()}`);
process.exitCode = failed.length === 0 ? 0 : 1;
