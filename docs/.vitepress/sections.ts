import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const repository = join(import.meta.dirname, "../..");

/** Their index, if there is one, comes first. */
const decisions = globSync(["docs/adr/README.md", "docs/adr/[0-9]*.md"], { cwd: repository }).sort(
  (a, b) => Number(b.endsWith("README.md")) - Number(a.endsWith("README.md")) || a.localeCompare(b),
);

/** The pages of each section in the order in which a newcomer reads them, by their paths in the repository. */
export const sections: { title: string; pages: string[] }[] = [
  {
    title: "Use",
    pages: [
      "README.md",
      "docs/tenants/README.md",
      "docs/tenants/connecting.md",
      "docs/tenants/importing-your-data.md",
      "docs/tenants/life-of-a-database.md",
      "docs/tenants/three-nodes.md",
      "docs/tenants/sql-privileges-and-limits.md",
      "docs/tenants/command-line.md",
      "docs/tenants/users-and-tokens.md",
      "docs/tenants/oauth-apps.md",
      "docs/tenants/billing.md",
      "docs/tenants/images.md",
      "docs/tenants/compute-instances.md",
      "docs/clients.md",
      "docs/filtering.md",
      "docs/messages.md",
      "docs/where-the-interface-is-silent.md",
    ],
  },
  {
    title: "Operate",
    pages: [
      "docs/operating/README.md",
      "docs/operating/install.md",
      "docs/operating/settings.md",
      "docs/operating/networks.md",
      "docs/operating/object-store.md",
      "docs/operating/three-nodes.md",
      "docs/operating/ways-out.md",
      "docs/operating/observability.md",
      "docs/operating/images.md",
      "docs/operating/money.md",
      "docs/operating/cards.md",
      "SECURITY.md",
      "CHANGELOG.md",
    ],
  },
  {
    title: "Understand",
    pages: ["ARCHITECTURE.md", "docs/guided-walk.md", "docs/glossary.md", "docs/performance.md", ...decisions],
  },
  {
    title: "Contribute",
    pages: [
      "CONTRIBUTING.md",
      "docs/testing.md",
      "docs/writing.md",
      "docs/adding-an-operation.md",
      "docs/dependencies.md",
    ],
  },
];

const pages = new Set(sections.flatMap((section) => section.pages));
const missing = globSync("docs/**/*.md", { cwd: repository }).filter((file) => !pages.has(file));
if (missing.length > 0) throw new Error(`In no section of docs/.vitepress/sections.ts: ${missing.join(", ")}`);

export const isPage = (file: string): boolean => pages.has(file);

/** Where the site has a page of the repository: without `docs`, and the README of a folder as its index. */
export const siteFile = (file: string): string =>
  file
    .replace(/^docs\//, "")
    .replace(/(^|\/)README\.md$/, "$1index.md")
    .toLowerCase();

export const sitePath = (file: string): string =>
  `/${siteFile(file).replace(/\.md$/, ".html")}`.replace(/\/index\.html$/, "/");

/** The heading of a page, without the marks of code. */
export const titleOf = (file: string): string =>
  (/^# (.+)$/m.exec(readFileSync(join(repository, file), "utf8"))?.[1] ?? file).replaceAll("`", "");
