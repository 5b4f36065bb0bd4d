import { mkdir } from "node:fs/promises";
import { readIfThere, writeDurably } from "../durable-file.ts";
import type { NodeContext } from "../node-context.ts";

/** Asked of the gateway once: a host that boots without a control plane must be able to rejoin. */
export async function groupPassword({ paths, spec, groupPassword: ask }: NodeContext): Promise<string> {
  const kept = await readIfThere(paths.groupPassword);
  if (kept !== undefined && kept !== "") return kept;
  const password = await ask(spec.node);
  await mkdir(paths.folder, { recursive: true });
  await writeDurably(paths.groupPassword, password);
  return password;
}
