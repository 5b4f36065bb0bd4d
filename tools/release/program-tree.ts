import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { exportCommit, readManifest, type Manifest, type Source } from "./checkout.ts";
import { writeSbom } from "./sbom.ts";
import { isUnwanted } from "./unwanted.ts";

/** The folder of a package of the workspace: `@moorage/agent` is in `packages/agent`. */
const folderOf = (name: string): string => `packages/${name.replace("@moorage/", "")}`;

/** The package and those of the workspace that it needs in production. */
export function workspaceClosure(stage: string, name: string): string[] {
  const found = new Set<string>();
  const waiting = [name];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    const { dependencies = {} } = readManifest(join(stage, folderOf(next)));
    waiting.push(...Object.keys(dependencies).filter((each) => dependencies[each]?.startsWith("workspace:")));
  }
  return [...found].toSorted();
}

/**
 * The tree of a program, as Node.js runs it: our TypeScript as it was tested, and the production dependencies that the
 * lockfile pins. `finish` may run programs of the tree before build tools are taken out.
 */
export function makeProgramTree(
  source: Source,
  { name, stage, tree, finish }: { name: string; stage: string; tree: string; finish?: (stage: string) => void },
): void {
  exportCommit(source, stage);
  install(stage, name);
  writeSbom(source, { name, stage, file: join(stage, "sbom.cdx.json") });
  finish?.(stage);
  mkdirSync(join(tree, "packages"), { recursive: true });
  for (const each of workspaceClosure(stage, name))
    copyPackage(join(stage, folderOf(each)), join(tree, folderOf(each)));
  renameSync(join(stage, "node_modules"), join(tree, "node_modules"));
  copyFileSync(join(stage, "LICENSE"), join(tree, "LICENSE"));
  const { version, commit } = source;
  const manifest = { name: "moorage", version, commit, private: true, license: "Apache-2.0", type: "module" };
  writeFileSync(join(tree, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  removeUnwanted(tree);
  removeDangling(tree);
}

/** Files of the store must not be shared with it: the release changes their times and modes. */
function install(stage: string, name: string): void {
  const args = ["install", "--prod", "--frozen-lockfile", "--prefer-offline", "--ignore-scripts"];
  const options = ["--config.package-import-method=copy", "--reporter=silent", "--filter-prod", `${name}...`];
  execFileSync("pnpm", [...args, ...options], { cwd: stage, stdio: ["ignore", "inherit", "inherit"] });
}

/** What `files` of its package.json names, and its links to dependencies. */
function copyPackage(from: string, to: string): void {
  const { files = [] }: Manifest = readManifest(from);
  const exclude = files.filter((each) => each.startsWith("!")).map((each) => each.slice(1));
  const include = files.filter((each) => !each.startsWith("!")).map((each) => `${each}/**`);
  mkdirSync(to, { recursive: true });
  for (const path of ["package.json", ...globSync(include, { cwd: from, exclude })]) {
    if (lstatSync(join(from, path)).isDirectory()) continue;
    mkdirSync(dirname(join(to, path)), { recursive: true });
    copyFileSync(join(from, path), join(to, path));
  }
  if (existsSync(join(from, "node_modules"))) renameSync(join(from, "node_modules"), join(to, "node_modules"));
}

function removeUnwanted(tree: string): void {
  for (const folder of ["", ...readdirSync(join(tree, "packages")).map((each) => `packages/${each}`)]) {
    const modules = join(tree, folder, "node_modules");
    if (existsSync(modules)) walk(modules, modules);
  }
}

function walk(folder: string, top: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (isUnwanted(relative(top, path))) rmSync(path, { recursive: true });
    else if (entry.isDirectory()) walk(path, top);
  }
}

/** Links to what was taken out, and folders that it leaves empty. */
function removeDangling(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink() && !existsSync(path)) rmSync(path);
    if (!entry.isDirectory()) continue;
    removeDangling(path);
    if (readdirSync(path).length === 0) rmSync(path, { recursive: true });
  }
}

/**
 * Paths of the folder in which the release was built would differ from build to build, and so does the map's own name:
 * webpack's hash of all paths. Columns in the map depend on the length of the path, which is the same for all builds.
 */
export function replaceInSourceMap(file: string, from: string, to: string): void {
  const replaced = readFileSync(file, "utf8").replace(
    /(sourceMappingURL=data:[^,\n]*;base64,)([A-Za-z0-9+/=]+)/g,
    (_all, head: string, map: string) =>
      head + Buffer.from(withoutBuild(Buffer.from(map, "base64").toString(), from, to)).toString("base64"),
  );
  if (replaced.includes(from)) throw new Error(`${file} contains a path of the build: ${from}`);
  writeFileSync(file, replaced);
}

const withoutBuild = (map: string, from: string, to: string): string =>
  map.replaceAll(from, to).replace(/workflow-bundle-[0-9a-f]+\.js/g, "workflows.js");
