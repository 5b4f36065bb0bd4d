/** The links of the built pages, and what they lead to. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

type Page = { path: string; links: URL[]; anchors: Set<string> };

const origin = "http://docs";

function readPage(site: string, file: string): Page {
  const html = readFileSync(join(site, file), "utf8");
  const path = `/${file}`;
  const values = (attribute: string): string[] =>
    [...html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, "g"))].map(([, value = ""]) =>
      value.replaceAll("&amp;", "&"),
    );
  return {
    path,
    links: values("href").map((href) => new URL(href, origin + path)),
    anchors: new Set(values("id")),
  };
}

export function brokenLinks(site: string): { checked: number; broken: string[] } {
  const files = globSync("**/*", { cwd: site, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(site.length));
  const pages = files.filter((file) => file.endsWith(".html")).map((file) => readPage(site, file.slice(1)));
  const byPath = new Map(pages.map((page) => [page.path, page]));
  const isBroken = (link: URL): boolean => {
    const path = decodeURI(link.pathname).replace(/\/$/, "/index.html");
    const anchor = decodeURIComponent(link.hash.slice(1));
    return !files.includes(path) || (anchor !== "" && byPath.get(path)?.anchors.has(anchor) === false);
  };
  const internal = pages.flatMap(({ path, links }) =>
    links.filter((link) => link.origin === origin).map((link) => ({ path, link })),
  );
  const broken = internal.filter(({ link }) => isBroken(link));
  return { checked: internal.length, broken: broken.map(({ path, link }) => `${path} → ${link.pathname}${link.hash}`) };
}
