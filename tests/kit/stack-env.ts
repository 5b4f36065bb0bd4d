import { readFileSync } from "node:fs";
import { envFile } from "../../tools/stack/env-file.ts";

/** What `pnpm stack up` wrote for its clients. */
export function stackEnv(): Record<string, string> {
  const lines = readFileSync(envFile, "utf8").matchAll(/^export (\w+)='(.*)'$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}

export function env(name: string): string {
  const value = stackEnv()[name];
  if (value === undefined) throw new Error(`${name} is not in .stack/env: is the stack up?`);
  return value;
}
