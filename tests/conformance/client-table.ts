import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { repo } from "../../tools/stack/paths.ts";
import { gapOf, operationIds } from "./client-cells.ts";
import { CLIENTS } from "./client-gaps.ts";

const document = join(repo, "docs", "clients.md");
const BEGIN = "<!-- The table of clients and operations, written by `pnpm test:conformance --write` -->";
const END = "<!-- The end of the table -->";

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

/** Client by operation: works, or why not. */
export const clientTable = (): string =>
  [
    row(["operation", ...CLIENTS]),
    row(["---", ...CLIENTS.map(() => "---")]),
    ...operationIds.map((id) => row([`\`${id}\``, ...CLIENTS.map((client) => gapOf(client, id) ?? "works")])),
  ].join("\n");

async function parts(): Promise<{ before: string; table: string; after: string }> {
  const text = await readFile(document, "utf8");
  const [before, rest] = text.split(BEGIN);
  const [table, after] = rest?.split(END) ?? [];
  if (before === undefined || table === undefined || after === undefined)
    throw new Error("docs/clients.md has no place for the table.");
  return { before, table: table.trim(), after };
}

export const committedTable = async (): Promise<string> => (await parts()).table;

export async function writeTable(): Promise<void> {
  const { before, after } = await parts();
  await writeFile(document, `${before}${BEGIN}\n${clientTable()}\n${END}${after}`);
}
