import { readFileSync } from "node:fs";
import { envFile } from "../../tools/stack/env-file.ts";

/** The variables that `pnpm stack up` wrote for its clients. MOORAGE_STACK names the stack. */
export const stackEnv = (): Record<string, string> => readEnvFile(envFile);

export function readEnvFile(file: string): Record<string, string> {
  const lines = readFileSync(file, "utf8").matchAll(/^export (\w+)='(.*)'$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}

export function env(name: string): string {
  const value = stackEnv()[name];
  if (value === undefined) throw new Error(`${name} is not in ${envFile}: is the stack up?`);
  return value;
}
