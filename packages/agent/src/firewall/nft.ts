import { runCommand } from "../run-command.ts";
import { table } from "./ruleset.ts";

/** One kernel transaction: all or nothing, even if nft dies. */
export async function applyRules(text: string): Promise<void> {
  await runCommand("nft", ["-f", "-"], text);
}

/** The kernel's table, with all elements, as nft's JSON. */
export const listRules = (): Promise<string> => runCommand("nft", ["--json", "list", "table", ...table.split(" ")]);
