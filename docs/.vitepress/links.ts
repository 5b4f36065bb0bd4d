import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { isPage, repository, siteFile } from "./sections.ts";

/** Where the source is published, as far as a file's path: `https://code.example/moorage/blob/main`. */
const sourceUrl = process.env["MOORAGE_SOURCE_URL"]?.replace(/\/$/, "");

type Token = ReturnType<MarkdownRenderer["parse"]>[number];

/**
 * Links in the repository name files. A link to a page becomes one to its place on the site. A link to any other file
 * leads to the published source, or is plain text with the path as a hint if the source is not published.
 */
export function repositoryLinks(md: MarkdownRenderer): void {
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    // `path` is the place on the site, except when the page is read for the search index.
    const { realPath, path } = env as { realPath?: string; path: string };
    for (const { children } of tokens) if (children !== null) rewriteLinks(children, dirname(realPath ?? path));
  });
}

function rewriteLinks(tokens: Token[], folder: string): void {
  let isPlain = false;
  for (const token of tokens) {
    if (token.type === "link_open") isPlain = rewriteLink(token, folder);
    if (token.type === "link_close" && isPlain) token.tag = "span";
  }
}

/** Returns whether the link became plain text. */
function rewriteLink(token: Token, folder: string): boolean {
  const href = String(token.attrGet("href"));
  if (/^([a-z]+:|#)/.test(href)) return false;
  const [path = "", anchor] = decodeURI(href).split("#");
  const file = relative(repository, join(folder, path));
  const hash = anchor === undefined ? "" : `#${anchor}`;
  if (isPage(file)) {
    token.attrSet("href", `/${siteFile(file)}${hash}`);
    return false;
  }
  const index = join(file, "README.md");
  if (isPage(index)) {
    token.attrSet("href", `/${siteFile(index)}${hash}`);
    return false;
  }
  if (file.startsWith("..") || !existsSync(join(repository, file)))
    throw new Error(`Broken link: ${href} in ${folder}`);
  if (sourceUrl !== undefined) {
    token.attrSet("href", `${sourceUrl}/${file}${hash}`);
    return false;
  }
  token.type = "source_open";
  token.tag = "span";
  token.attrs = [
    ["class", "source"],
    ["title", file],
  ];
  return true;
}
