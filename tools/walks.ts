/**
 * Counts what a reader opens to follow three stories through the code (`walks.json`), against goals, and the sizes of
 * all product files. A walk lists files in reading order, each because the story turns on something in it: a file whose
 * functions' names say all that the story needs (a store's reads and writes, `audit`, `emit`, limits, validation) is not
 * opened, nor are barrels and files that only have types. A file that occurs again is a jump back, to a function that
 * the first visit gave no reason to read. Each file must be imported by an earlier one, or be named by a hand-over.
 *
 *   node tools/walks.ts       exits 1 only if a listed file does not exist
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { parseSync } from "oxc-parser";
import walksFile from "./walks.json" with { type: "json" };

const root = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const linesOf = (path: string): number => read(path).trimEnd().split("\n").length;

const { "hand-overs": handOvers, ...walks } = walksFile;
type Name = keyof typeof walks;
const goals: Record<Name, { files: number; jumps?: number }> = {
  "allow-list": { files: 40, jumps: 4 },
  failover: { files: 36 },
  "month-end": { files: 30 },
};
const LONG_FILE_LINES = 350;

/** A specifier of one of our packages, as its package.json exports it. */
const packageEntries: Record<string, string> = {
  "@moorage/contract": "packages/contract/src/index.ts",
  "@moorage/contract/agent": "packages/contract/src/agent/index.ts",
  "@moorage/crash-points": "packages/crash-points/src/crash-points.ts",
};

function resolve(importer: string, from: string): string {
  if (from.startsWith("#")) return importer.replace(/^(packages\/[^/]+\/src\/).*/, `$1${from.slice(1)}`);
  return from.startsWith(".") ? normalize(join(dirname(importer), from)) : (packageEntries[from] ?? from);
}

const isBarrel = (path: string): boolean => path.startsWith("packages/") && basename(path) === "index.ts";

/** The files that an imported name comes from: that of the specifier, or behind a barrel the one that declares it. */
function filesBehind(path: string, name: string | null): string[] {
  if (!isBarrel(path)) return [path];
  const { module } = parseSync(path, read(path));
  return module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, exportName }) => {
      if (moduleRequest === null) return [];
      const target = resolve(path, moduleRequest.value);
      const isAll = exportName.name === null;
      return name === null || (isAll ? declares(target, name) : exportName.name === name) ? [target] : [];
    }),
  );
}

const declares = (path: string, name: string): boolean =>
  parseSync(path, read(path)).module.staticExports.some(({ entries }) =>
    entries.some(({ exportName }) => exportName.name === name),
  );

function importsOf(path: string): string[] {
  const { module } = parseSync(path, read(path));
  const imported = module.staticImports.flatMap(({ moduleRequest, entries }) =>
    entries.flatMap(({ importName }) => filesBehind(resolve(path, moduleRequest.value), importName.name)),
  );
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [resolve(path, moduleRequest.value)])),
  );
  return [...imported, ...exported];
}

/** Files that no earlier file of the walk leads to. The first one is where the story begins. */
function unreached(walk: readonly string[]): string[] {
  const reached = new Set(walk.slice(0, 1));
  const opened = new Set<string>();
  const found: string[] = [];
  for (const file of walk) {
    if (opened.has(file)) continue;
    if (!reached.has(file)) found.push(file);
    opened.add(file);
    for (const target of importsOf(file)) reached.add(target);
    for (const { from, to } of handOvers) if (from === file) reached.add(to);
  }
  return found;
}

const against = (count: number, goal: number | undefined): string =>
  goal === undefined ? String(count) : `${count} (goal ${goal}${count <= goal ? "" : ", missed"})`;

function report(name: Name): string[] {
  const walk = walks[name];
  const files = [...new Set(walk)];
  const lines = files.reduce((sum, file) => sum + linesOf(file), 0);
  const { files: most, jumps } = goals[name];
  const row = [
    name.padEnd(12),
    against(files.length, most).padEnd(22),
    against(walk.length - files.length, jumps).padEnd(22),
    lines,
  ];
  return [row.join(" "), ...unreached(walk).map((file) => `  no earlier file leads to ${file}`)];
}

function sizes(): string[] {
  const files = globSync("packages/*/src/**/*.ts", {
    cwd: root,
    exclude: ["**/*.test.ts", "**/*.gen.ts", "**/testing/**", "packages/testkit/**"],
  });
  const sized = files.map((file) => ({ file, lines: linesOf(file) })).toSorted((a, b) => b.lines - a.lines);
  const long = sized.filter(({ lines }) => lines > LONG_FILE_LINES);
  const median = sized[Math.floor(sized.length / 2)]?.lines;
  return [
    `product files ${sized.length}, median ${median} lines, over ${LONG_FILE_LINES} lines: ${long.length}`,
    ...long.map(({ file, lines }) => `  ${lines} ${file}`),
  ];
}

const listed = [...Object.values(walks).flat(), ...handOvers.flatMap(({ from, to }) => [from, to])];
const missing = [...new Set(listed)].filter((file) => !existsSync(join(root, file)));
if (missing.length > 0) {
  console.error(`tools/walks.json names files that do not exist:\n${missing.map((file) => `  ${file}`).join("\n")}`);
  process.exitCode = 1;
} else {
  console.log(`${"walk".padEnd(12)} ${"files".padEnd(22)} ${"jumps back".padEnd(22)} lines`);
  for (const name of Object.keys(walks) as Name[]) for (const line of report(name)) console.log(line);
  for (const line of sizes()) console.log(line);
}
