/** The allowed imports. A folder without a row fails the test, so that somebody decides about a new one. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const controlPlane = "packages/control-plane/src/";
const agent = "packages/agent/src/";

/** The capabilities whose `index.ts` each capability may use, besides `platform`. */
const capabilities: Record<string, readonly string[]> = {
  platform: [],
  identity: [],
  regions: ["identity", "metering"],
  events: ["identity"],
  notifications: ["identity"],
  operations: ["identity"],
  fleet: ["operations"],
  dns: [],
  mail: [],
  metering: [],
  databases: ["identity", "regions", "events", "notifications", "operations", "fleet", "metering", "dns"],
  billing: ["identity", "metering", "notifications", "operations", "regions"],
  "payment-provider": [],
  payments: ["identity", "events", "notifications", "billing", "payment-provider"],
  cards: ["payment-provider"],
  account: ["identity", "events", "regions", "billing", "payments", "databases"],
  inventory: ["identity", "notifications"],
  transfers: ["identity", "events", "operations", "inventory"],
  images: ["identity", "events", "operations", "fleet", "inventory", "regions"],
  "image-server": ["images"],
  "oauth-clients": ["identity", "events"],
  auth: [],
  "sign-in": ["auth", "identity", "events", "mail", "profile"],
  users: ["identity", "events", "inventory", "mail"],
  profile: ["identity", "events", "mail", "oauth-clients", "users"],
  operator: [
    "identity",
    "mail",
    "oauth-clients",
    "regions",
    "events",
    "operations",
    "fleet",
    "databases",
    "users",
    "account",
    "metering",
    "billing",
    "payments",
    "inventory",
    "notifications",
    "images",
    "image-server",
  ],
};
/** Folders that combine capabilities and are none themselves: each process loads only the files that it runs. */
const assembly = ["", "bin", "testing"];
/** Files that workflows of other capabilities load. An index would bring I/O into Temporal's sandbox. */
const forWorkflows = ["fleet/workflows/wait-for-phase.ts", "operations/workflow-id.ts"];

/** Packages that are not in this table may use whatever their package.json lists. */
const packages: Record<string, readonly string[]> = {
  "packages/contract/": ["zod", "ipaddr.js"],
  "packages/crash-points/": ["node:"],
  "packages/disk-image/": ["node:", "zod"],
  // The first matching row applies.
  [`${agent}testing/`]: [
    "@moorage/contract/agent",
    "node:",
    ...dependenciesOf("packages/agent"),
    "@aws-sdk/client-s3",
    "@aws-sdk/s3-request-presigner",
  ],
  [agent]: [
    "@moorage/contract/agent",
    "@moorage/crash-points",
    "@moorage/disk-image",
    "node:",
    ...dependenciesOf("packages/agent"),
  ],
};

/** What Temporal's sandbox can replay: no clock, no socket, no file. */
const insideWorkflows = ["@temporalio/workflow", "@temporalio/common", "@moorage/contract", "zod"];

const readersOfEnvironment = [`${controlPlane}platform/config.ts`, `${agent}config.ts`, `${agent}gatekeeper/config.ts`];

type Import = { from: string; typeOnly: boolean };
type Source = { imports: Import[]; readsEnvironment: boolean };
type Sources = Record<string, string>;

function dependenciesOf(folder: string): string[] {
  const text = readFileSync(join(root, folder, "package.json"), "utf8");
  const { dependencies } = JSON.parse(text) as { dependencies: Record<string, string> };
  return Object.keys(dependencies).filter((name) => !name.startsWith("@moorage/"));
}

function parse(path: string, text: string): Source {
  const { module, program } = parseSync(path, text);
  const imports = module.staticImports.map(({ moduleRequest, entries }) => ({
    from: moduleRequest.value,
    typeOnly: entries.length > 0 && entries.every((entry) => entry.isType),
  }));
  const exports = module.staticExports
    .flatMap(({ entries }) => entries)
    .flatMap(({ moduleRequest, isType }) => (moduleRequest ? [{ from: moduleRequest.value, typeOnly: isType }] : []));
  const dynamic = module.dynamicImports.map(({ moduleRequest: { start, end } }) => ({
    from: text.slice(start + 1, end - 1),
    typeOnly: false,
  }));
  let readsEnvironment = imports.some(({ from }) => from === "node:process" || from === "process");
  new Visitor({
    MemberExpression({ object, property }) {
      const name = property.type === "Identifier" ? property.name : property.type === "Literal" ? property.value : "";
      readsEnvironment ||= object.type === "Identifier" && object.name === "process" && name === "env";
    },
  }).visit(program);
  return { imports: [...imports, ...exports, ...dynamic], readsEnvironment };
}

/** The path of an imported file of ours, or the name of the library. */
function resolve(importer: string, from: string): string {
  if (from.startsWith("#")) return importer.replace(/^(packages\/[^/]+\/src\/).*/, `$1${from.slice(1)}`);
  return from.startsWith(".") ? normalize(join(dirname(importer), from)) : from;
}

const isTest = (path: string): boolean => path.endsWith(".test.ts");
const isOneOf = (name: string, allowed: readonly string[]): boolean =>
  allowed.some((one) => name === one || (one.endsWith(":") ? name.startsWith(one) : name.startsWith(`${one}/`)));
const folderOf = (path: string): string => path.slice(controlPlane.length).split("/").slice(0, -1)[0] ?? "";

function faultBetweenCapabilities(path: string, target: string): string | undefined {
  const [mine, theirs] = [folderOf(path), folderOf(target)];
  if (assembly.includes(mine) || theirs === mine) return undefined;
  const mayUse = capabilities[mine];
  if (mayUse === undefined) return `${mine} has no row in the table`;
  if (theirs === "platform") return undefined;
  if (assembly.includes(theirs)) return isTest(path) ? undefined : "is for assembly and tests";
  const file = target.slice(controlPlane.length);
  const isOpen = file === `${theirs}/index.ts` || (path.includes("/workflows/") && forWorkflows.includes(file));
  if (!isOpen) return "is inside another capability";
  return isTest(path) || mayUse.includes(theirs) ? undefined : `${mine} may not use ${theirs}`;
}

function faultOfImport(path: string, from: string): string | undefined {
  const home = path.replace(/^(packages\/[^/]+\/src\/).*/, "$1");
  const target = resolve(path, from);
  if (target.startsWith(home)) return home === controlPlane ? faultBetweenCapabilities(path, target) : undefined;
  if (/^[.#]/.test(from)) return "leaves its package";
  if (from === "fastify" && path.endsWith("-store.ts")) return "stores know no HTTP";
  const libraries = Object.entries(packages).find(([folder]) => path.startsWith(folder))?.[1];
  return libraries === undefined || isTest(path) || isOneOf(from, libraries) ? undefined : "is not for this package";
}

function isForeignReaderOfEnvironment(path: string): boolean {
  if (isTest(path) || path.includes("/testing/") || readersOfEnvironment.includes(path)) return false;
  return path.startsWith(controlPlane) || path.startsWith(agent);
}

/** A workflow is pure only if everything that it loads, directly or indirectly, is pure. */
function faultsOfWorkflows(parsed: Map<string, Source>): string[] {
  const found: string[] = [];
  const reached = new Set([...parsed.keys()].filter((path) => path.includes("/workflows/") && !isTest(path)));
  // The iteration includes elements that are added to the set meanwhile.
  for (const path of reached) {
    for (const { from, typeOnly } of parsed.get(path)?.imports ?? []) {
      const target = resolve(path, from);
      if (typeOnly || isOneOf(target, insideWorkflows)) continue;
      if (target.startsWith("packages/")) reached.add(target);
      else found.push(`${path}: ${from} is reached by a workflow`);
    }
  }
  return found;
}

function faults(sources: Sources): string[] {
  const parsed = new Map(Object.entries(sources).map(([path, text]) => [path, parse(path, text)]));
  const found = faultsOfWorkflows(parsed);
  for (const [path, { imports, readsEnvironment }] of parsed) {
    for (const { from } of imports) {
      const fault = faultOfImport(path, from);
      if (fault !== undefined) found.push(`${path}: ${from} ${fault}`);
    }
    if (readsEnvironment && isForeignReaderOfEnvironment(path)) {
      found.push(`${path}: reads the environment; only ${readersOfEnvironment.join(" and ")} may`);
    }
  }
  return found;
}

const sourcesOnDisk = (): Sources =>
  Object.fromEntries(
    globSync("packages/*/src/**/*.ts", { cwd: root }).map((path) => [path, readFileSync(join(root, path), "utf8")]),
  );

test("every import is allowed by the tables", () => {
  const sources = sourcesOnDisk();
  expect(Object.keys(sources).length).toBeGreaterThan(0);
  expect(faults(sources)).toEqual([]);
});

test.each([
  ["databases/create.ts", 'import { emit } from "#events/emit.ts"', "is inside another capability"],
  ["events/emit.ts", 'import { f } from "#databases/index.ts"', "events may not use databases"],
  ["platform/db.ts", 'export * from "../events/index.ts"', "platform may not use events"],
  ["stray/a.ts", 'import { db } from "#platform/db.ts"', "stray has no row in the table"],
  ["databases/a.ts", 'import { w } from "#testing/world.ts"', "is for assembly and tests"],
  ["databases/a.ts", 'await import("#fleet/set-desired.ts")', "is inside another capability"],
  ["databases/database-store.ts", 'import type { A } from "fastify"', "stores know no HTTP"],
  ["databases/workflows/a.ts", 'import { b } from "node:fs"', "is reached by a workflow"],
  ["databases/workflows/a.ts", 'import type { b } from "#fleet/set-desired.ts"', "is inside another capability"],
  ["databases/a.ts", 'const { A } = process["env"]', "reads the environment"],
  ["databases/a.ts", 'import { f } from "../../../agent/src/config.ts"', "leaves its package"],
  ["../../contract/src/a.ts", 'import { f } from "fastify"', "is not for this package"],
  ["../../agent/src/a.ts", 'import { f } from "@moorage/contract"', "is not for this package"],
])("a violation is found: %s with %s", (path, text, reason) => {
  expect(faults({ [normalize(controlPlane + path)]: text })).toEqual([expect.stringContaining(reason)]);
});

test("a workflow's indirect imports count, and type imports do not", () => {
  const found = faults({
    [`${controlPlane}databases/workflows/a.ts`]:
      'import { rule } from "../rule.ts"; import type { A } from "../activities.ts"; import { sleep } from "@temporalio/workflow"',
    [`${controlPlane}databases/rule.ts`]: 'import { Client } from "pg"',
    [`${controlPlane}databases/activities.ts`]: 'import { Pool } from "pg"',
  });
  expect(found).toEqual([`${controlPlane}databases/rule.ts: pg is reached by a workflow`]);
});
