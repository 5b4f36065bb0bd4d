import { globSync } from "node:fs";
import { join } from "node:path";
import { catalogue } from "../packages/contract/src/texts.ts";

const root = join(import.meta.dirname, "..");

/** The example of every text, by its code. */
export async function readTexts(): Promise<Map<string, string>> {
  const files = globSync("packages/{cli,control-plane}/src/**/texts.ts", { cwd: root });
  for (const file of files) await import(join(root, file));
  await import("../packages/control-plane/src/platform/errors.ts");
  const examples = [...catalogue].map(([code, example]) => [code, example()] as const);
  return new Map(examples.sort(([a], [b]) => (a < b ? -1 : 1)));
}
