import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** They are about the past: what they name may be gone. */
const isRecord = (file: string, text: string): boolean =>
  file === "CHANGELOG.md" || /^Superseded by ADR \d+/m.test(text);

/** The relative links of a document, and the paths from the root of the repository that it writes. */
function pathsIn(file: string, text: string): string[] {
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = ""]) => link.replace(/#.*/, ""))
    .filter((link) => link !== "" && !/^[a-z]+:/.test(link))
    .map((link) => join(dirname(file), decodeURI(link)));
  const written = [...text.matchAll(/(?<![\w./-])(?:packages|tests|tools)\/[^\s`"'()[\]|,;:]+/g)]
    // Of a path with a placeholder, such as `<family>.ts`, the folder before it.
    .map(([path]) => path.replace(/\/[^/]*[<*{…].*$/, "").replace(/[/.]+$/, ""));
  return [...links, ...written];
}

const missingIn = (file: string, text: string): string[] =>
  pathsIn(file, text).filter((path) => !existsSync(join(root, path)));

const documents = globSync(["*.md", "{docs,packages,tests,tools,.github}/**/*.md"], {
  cwd: root,
  exclude: ["**/node_modules/**"],
})
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }))
  .filter(({ file, text }) => !isRecord(file, text));

test("every relative link and every path in a document exists", () => {
  expect(documents.flatMap(({ file, text }) => missingIn(file, text).map((path) => `${file}: ${path}`))).toEqual([]);
  expect(documents.flatMap(({ file, text }) => pathsIn(file, text)).length).toBeGreaterThan(300);
});

test("a link or path that does not exist is found, whatever surrounds it", () => {
  const text = `[a](gone.md#part), \`tests/gone.ts\`, tools/gone. [b](testing.md), \`packages/contract/src/<family>.ts\`,
    \`packages/*/src\`, \`tools/a-<name>.ts\`, https://code.example/tests/elsewhere.ts`;

  expect(missingIn("docs/page.md", text)).toEqual(["docs/gone.md", "tests/gone.ts", "tools/gone"]);
});

test("every source file that a document names without its whole path exists", () => {
  const sources = globSync("{docs/.vitepress,packages,tests,tools}/**/*.ts", {
    cwd: root,
    exclude: ["**/node_modules/**"],
  });
  // The file that the page about adding an operation has the reader write.
  const known = [...sources, "updates/isolate-database.ts"].map((path) => `/${path}`);
  const named = documents.flatMap(({ file, text }) =>
    [...text.matchAll(/`(?:\.\.\/)*([\w./-]+\.ts)`/g)].map(([, name = ""]) => ({ file, name })),
  );

  expect(named.filter(({ name }) => !known.some((path) => path.endsWith(`/${name}`)))).toEqual([]);
  expect(named.length).toBeGreaterThan(100);
});
