import { defineConfig, type DefaultTheme } from "vitepress";
import { repositoryLinks } from "./links.ts";
import { searchOptions } from "./search.ts";
import { sections, siteFile, sitePath, titleOf } from "./sections.ts";

const entry = (file: string): { text: string; link: string } => ({
  text: file === "README.md" ? "Start" : titleOf(file),
  link: sitePath(file),
});

const isDecision = (file: string): boolean => file.startsWith("docs/adr/");

/** The section of the page that is read is open. */
const sidebar: DefaultTheme.SidebarItem[] = sections.map(({ title, pages }) => {
  const decisions = pages.filter(isDecision).map(entry);
  const folded = decisions.length === 0 ? [] : [{ text: "Decisions", collapsed: true, items: decisions }];
  const others = pages.filter((file) => !isDecision(file)).map(entry);
  return { text: title, collapsed: true, items: [...others, ...folded] };
});

const nav: DefaultTheme.NavItem[] = sections.map(({ title, pages }) => {
  const own = pages.map((file) =>
    sitePath(file)
      .replace(/\.html$/, "")
      .slice(1),
  );
  return { text: title, link: sitePath(pages[0] ?? ""), activeMatch: `^/(${own.join("|")})(\\.html)?$` };
});

/** As code hosts make them, so that a link to a heading works in both. */
const slugify = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="3" r="2" fill="none" stroke="#1d6fa5" stroke-width="2"/><path d="M8 5v9M4 8h8M2 10c0 6 12 6 12 0" fill="none" stroke="#1d6fa5" stroke-width="2"/></svg>`;

export default defineConfig({
  title: "Moorage",
  description: "A self-hosted cloud control plane for managed MySQL",
  lang: "en",
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  srcDir: "..",
  srcExclude: ["!(docs)/**/*"],
  rewrites: siteFile,
  router: { prefetchLinks: false },
  markdown: { anchor: { slugify }, linkify: false, config: repositoryLinks },
  themeConfig: {
    nav,
    sidebar,
    outline: { level: [2, 3] },
    search: { provider: "local", options: searchOptions },
    docFooter: { prev: false, next: false },
  },
});
