import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repo } from "../../tools/stack/paths.ts";

export type Block = { heading: string; language: string; code: string };

/** The code blocks of a document in the repository, in order, each with the heading that it is under. */
export const blocksOf = (path: string): Block[] => fencedBlocks(readFileSync(join(repo, path), "utf8"));

export function fencedBlocks(markdown: string): Block[] {
  const parts = markdown.matchAll(/^```(?<language>\w+)\n(?<code>[^]*?)^```$|^#+ (?<heading>.+)$/gm);
  const blocks: Block[] = [];
  let heading = "";
  for (const { groups = {} } of parts) {
    const { language, code } = groups;
    if (language !== undefined && code !== undefined) blocks.push({ heading, language, code });
    else heading = groups["heading"] ?? "";
  }
  return blocks;
}
