import { runCommand } from "../run-command.ts";
import { table } from "./ruleset.ts";

/** One transaction of the kernel: all of it or nothing, whenever the program dies. */
export async function applyRules(text: string): Promise<void> {
  await runCommand("nft", ["-f", "-"], text);
}

/** What the kernel has, element by element, in nft's own JSON. */
export const listRules = (): Promise<string> => runCommand("nft", ["--json", "list", "table", ...table.split(" ")]);
