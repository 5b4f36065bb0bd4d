/** The allowed imports. A folder without a row fails the test, so that somebody decides about a new one. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const controlPlane = "packages/control-plane/src/";
const agent = "packages/agent/src/";
const commandLine = "packages/cli/src/";
const testkit = "packages/testkit/";

/** The capabilities whose `index.ts` each capability may use, besides `platform`. */
const capabilities: Record<string, readonly string[]> = {
  platform: [],
  identity: [],
  http: ["identity"],
  regions: ["identity", "http", "metering"],
  events: ["identity", "http"],
  notifications: ["identity", "http"],
  operations: ["identity"],
  fleet: ["operations"],
  dns: [],
  mail: [],
  metering: [],
  chains: [],
  databases: ["identity", "http", "regions", "events", "notifications", "operations", "fleet", "metering", "dns"],
  billing: ["identity", "http", "metering", "notifications", "operations", "regions"],
  "payment-provider": [],
  payments: ["identity", "http", "events", "notifications", "operations", "fleet", "billing", "payment-provider"],
  cards: ["payment-provider"],
  account: ["identity", "http", "auth", "events", "regions", "billing", "payments", "databases"],
  inventory: ["identity", "http", "notifications"],
  transfers: ["identity", "http", "events", "operations", "inventory"],
  images: ["identity", "http", "events", "operations", "fleet", "inventory", "regions"],
  "image-server": ["images"],
  "oauth-clients": ["identity", "http", "events"],
  auth: ["identity"],
  "sign-in": ["auth", "identity", "http", "events", "mail", "profile"],
  users: ["identity", "http", "events", "inventory", "mail"],
  profile: ["identity", "http", "auth", "events", "mail", "oauth-clients", "users"],
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
    "chains",
  ],
};
/**
 * The folders inside of a large capability, in the order in which they may import each other: each uses only those
 * before it. The empty name is the capability's own folder.
 */
const inside: Record<string, readonly string[]> = {
  databases: [
    "model",
    "spec",
    "archive",
    "changes",
    "backups",
    "clusters",
    "provision",
    "timelines",
    "updates",
    "recovery",
    "jobs",
    "api",
    "",
    "workflows",
  ],
};
/** The same for the folders of the agent. Its own folder is the composition. */
const insideAgent = [
  "base",
  "specs",
  "capture",
  "mysql",
  "node",
  "gateway",
  "firewall",
  "disk",
  "encryption",
  "metrics",
  "proxy",
  "gatekeeper",
  "access",
  "archive",
  "replication",
  "provision",
  "restore",
  "reconcile",
  "",
  "bin",
  "testing",
];
/** Folders that combine capabilities and are none themselves: each process loads only the files that it runs. */
const assembly = ["", "bin", "testing"];
/** Files that workflows of other capabilities load. An index would bring I/O into Temporal's sandbox. */
const forWorkflows = ["fleet/workflows/wait-for-phase.ts", "operations/workflow-id.ts"];

/**
 * The only capability that inserts, updates and deletes the rows of a table; others call functions of its `index.ts`. A
 * table without a row here fails the test, and so does a row without a table.
 */
const owners: Record<string, string> = {
  accounts: "identity",
  address_links: "identity",
  adjustments: "billing",
  app_grants: "auth",
  archive_branches: "databases",
  archivers: "databases",
  archives: "databases",
  audit: "platform",
  auth_records: "auth",
  autopay: "payments",
  backups: "databases",
  billing_runs: "billing",
  binary_logs: "databases",
  captures: "images",
  card_attempts: "payments",
  chain_heads: "chains",
  chain_links: "chains",
  chain_pending: "chains",
  charges: "payments",
  clusters: "fleet",
  computes: "inventory",
  copies: "databases",
  credits: "billing",
  databases: "databases",
  desired_phases: "fleet",
  disks: "inventory",
  engine_versions: "regions",
  entity_grants: "identity",
  event_reads: "events",
  event_watermarks: "events",
  events: "events",
  host_digests: "fleet",
  host_leases: "fleet",
  host_sources: "fleet",
  hosts: "fleet",
  idempotency_keys: "platform",
  image_copies: "images",
  image_limits: "images",
  image_sweeps: "images",
  images: "images",
  installation: "fleet",
  invoice_items: "billing",
  invoices: "billing",
  keyrings: "databases",
  ledger: "billing",
  logins: "identity",
  lost_transactions: "databases",
  invitation_counts: "mail",
  recipient_counts: "mail",
  mails: "mail",
  maintenance: "inventory",
  members: "fleet",
  node_alerts: "fleet",
  nodes: "fleet",
  notifications: "notifications",
  oauth_client_thumbnails: "oauth-clients",
  oauth_clients: "oauth-clients",
  operations: "operations",
  outages: "regions",
  passkeys: "sign-in",
  password_links: "identity",
  payment_methods: "payments",
  payments: "payments",
  plans: "regions",
  prices: "metering",
  primary_changes: "fleet",
  primary_terms: "databases",
  provider_events: "payments",
  refunds: "payments",
  regions: "regions",
  revoked_host_keys: "fleet",
  scratch_codes: "sign-in",
  signals: "operations",
  signing_keys: "auth",
  tax_rates: "billing",
  timelines: "databases",
  tokens: "identity",
  transfers: "transfers",
  unfit_archivers: "databases",
  usage_facts: "metering",
  users: "identity",
};
/** Files that write a table of another capability. */
const foreignWriters: Record<string, { table: string; why: string }> = {
  "platform/db/migrate.ts": {
    table: "installation",
    why: "The only row is created together with the schema, and platform uses no capability.",
  },
};

/** Packages that are not in this table may use whatever their package.json lists. */
const packages: Record<string, readonly string[]> = {
  // What every process has: its version, and its report to systemd. No other file of the package loads it.
  "packages/contract/src/process/": ["node:"],
  "packages/contract/": ["zod", "ipaddr.js"],
  "packages/crash-points/": ["node:"],
  "packages/disk-image/": ["node:", "zod"],
  // None of ours: every package may use it.
  [testkit]: ["node:", ...dependenciesOf(testkit)],
  // The first matching row applies.
  [`${agent}testing/`]: ["@moorage/contract/agent", "@moorage/testkit", "node:", ...dependenciesOf("packages/agent")],
  [agent]: [
    "@moorage/contract/agent",
    "@moorage/contract/process",
    "@moorage/contract/settings",
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
const isForTests = (path: string): boolean =>
  isTest(path) || path.startsWith(testkit) || /\/testing(\/|$)/.test(path) || path.startsWith("@moorage/testkit/");
const isOneOf = (name: string, allowed: readonly string[]): boolean =>
  allowed.some((one) => name === one || (one.endsWith(":") ? name.startsWith(one) : name.startsWith(`${one}/`)));
const folderOf = (path: string): string => path.slice(controlPlane.length).split("/").slice(0, -1)[0] ?? "";

/** `order`: that of the folders of `home`; without one all may import each other. */
function faultOfOrder(
  order: readonly string[] | undefined,
  home: string,
  path: string,
  target: string,
): string | undefined {
  if (order === undefined || isTest(path)) return undefined;
  const placeOf = (file: string): string => file.slice(home.length).split("/").slice(0, -1)[0] ?? "";
  const [mine, theirs] = [placeOf(path), placeOf(target)];
  const missing = [mine, theirs].find((place) => !order.includes(place));
  if (missing !== undefined) return `${home}${missing} has no place in the order`;
  return order.indexOf(theirs) <= order.indexOf(mine) ? undefined : `${mine} may not use ${theirs}`;
}

/** Two folders that import each other are one. Of each pair the import with fewer uses is the fault. */
function faultsOfMutualImports(parsed: Map<string, Source>): string[] {
  const uses = new Map<string, string[]>();
  for (const [path, { imports }] of parsed) {
    const home = [controlPlane, agent, commandLine].find((each) => path.startsWith(each));
    if (isTest(path) || path.includes("/testing/") || home === undefined) continue;
    for (const { from } of imports) {
      const target = resolve(path, from);
      if (!target.startsWith(home) || dirname(target) === dirname(path)) continue;
      const key = `${dirname(path)} ${dirname(target)}`;
      uses.set(key, [...(uses.get(key) ?? []), `${path}: ${from}`]);
    }
  }
  return [...uses].flatMap(([key, found]) => {
    const [importer, imported] = key.split(" ") as [string, string];
    const back = uses.get(`${imported} ${importer}`);
    const isFault =
      back !== undefined && (found.length < back.length || (found.length === back.length && importer < imported));
    return isFault ? found.map((use) => `${use} is a folder that imports this one too`) : [];
  });
}

function faultBetweenCapabilities(path: string, target: string): string | undefined {
  const [mine, theirs] = [folderOf(path), folderOf(target)];
  if (assembly.includes(mine)) return undefined;
  if (theirs === mine) return faultOfOrder(inside[mine], `${controlPlane}${mine}/`, path, target);
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
  if (isForTests(target) && !isForTests(path)) return "is for tests";
  if (target.startsWith(home)) {
    if (home === controlPlane) return faultBetweenCapabilities(path, target);
    return home === agent ? faultOfOrder(insideAgent, agent, path, target) : undefined;
  }
  if (/^[.#]/.test(from)) return "leaves its package";
  if (from === "fastify" && path.endsWith("-store.ts")) return "stores know no HTTP";
  const libraries = Object.entries(packages).find(([folder]) => path.startsWith(folder))?.[1];
  return libraries === undefined || isTest(path) || isOneOf(from, libraries) ? undefined : "is not for this package";
}

const schema = readFileSync(join(root, "packages/control-plane/schema.sql"), "utf8");
const tables = new Set([...schema.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name = ""]) => name));
/** A name that is no literal matches without a group. Words of prose match too, but are no tables. */
const writes =
  /\.(?:insertInto|updateTable|deleteFrom|mergeInto)\(\s*(?:"(\w+)|[^"\s])|\b(?:insert into|merge into|update|delete from)\s+(?:only\s+)?(?:"?(\w+)|\$\{)/gi;

/** Two capabilities that write one table depend on each other's rules about its rows. */
function faultsOfWrites(path: string, text: string): string[] {
  if (isTest(path) || path.includes("/testing/") || !path.startsWith(controlPlane)) return [];
  const found = [...text.matchAll(writes)].flatMap(([, built, raw]) => {
    const table = built ?? raw;
    if (table === undefined) return ["names a table that it writes by a variable"];
    if (!tables.has(table) || foreignWriters[path.slice(controlPlane.length)]?.table === table) return [];
    const owner = owners[table];
    if (owner === undefined) return [`${table} has no owner in the table`];
    return owner === folderOf(path) ? [] : [`${table} may be written by ${owner} only`];
  });
  return [...new Set(found)].map((fault) => `${path}: ${fault}`);
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
  const found = [...faultsOfWorkflows(parsed), ...faultsOfMutualImports(parsed)];
  found.push(...Object.entries(sources).flatMap(([path, text]) => faultsOfWrites(path, text)));
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

test("every import and every write is allowed by the tables", () => {
  const sources = sourcesOnDisk();
  expect(Object.keys(sources).length).toBeGreaterThan(0);
  expect(faults(sources)).toEqual([]);
});

test("every table of the schema has an owner, and every owned table is in the schema", () => {
  expect(Object.keys(owners).toSorted()).toEqual([...tables].toSorted());
});

const shipped = globSync("packages/*/package.json", { cwd: root }).filter((path) => !path.startsWith(testkit));
test.each(shipped)("neither kits nor tests ship: %s", (path) => {
  const { files, dependencies } = JSON.parse(readFileSync(join(root, path), "utf8")) as Record<string, unknown>;
  expect(files).toEqual(expect.arrayContaining(["src", "!src/**/testing", "!src/**/*.test.ts"]));
  expect(Object.keys(dependencies ?? {})).not.toContain("@moorage/testkit");
});

test.each([
  ["databases/create.ts", 'import { emit } from "#events/emit.ts"', "is inside another capability"],
  ["events/emit.ts", 'import { f } from "#databases/index.ts"', "events may not use databases"],
  ["platform/db.ts", 'export * from "../events/index.ts"', "platform may not use events"],
  ["stray/a.ts", 'import { db } from "#platform/db.ts"', "stray has no row in the table"],
  ["databases/a.ts", 'import { w } from "#testing/world.ts"', "is for tests"],
  ["databases/a.ts", 'import { f } from "#api.ts"', "is for assembly and tests"],
  ["databases/a.ts", 'import { freePort } from "@moorage/testkit/free-port.ts"', "is for tests"],
  ["bin/api.ts", 'import { w } from "../testing/world.ts"', "is for tests"],
  ["platform/filter/a.ts", 'import { things } from "./testing/things.ts"', "is for tests"],
  ["images/a.ts", 'import { readDisk } from "@moorage/disk-image/testing"', "is for tests"],
  ["databases/a.ts", 'await import("#fleet/set-desired.ts")', "is inside another capability"],
  ["databases/model/a.ts", 'import type { B } from "../api/b.ts"', "model may not use api"],
  ["databases/attic/a.ts", 'import { b } from "../model/b.ts"', "databases/attic has no place in the order"],
  ["databases/database-store.ts", 'import type { A } from "fastify"', "stores know no HTTP"],
  ["databases/workflows/a.ts", 'import { b } from "node:fs"', "is reached by a workflow"],
  ["databases/workflows/a.ts", 'import type { b } from "#fleet/set-desired.ts"', "is inside another capability"],
  ["databases/a.ts", 'const { A } = process["env"]', "reads the environment"],
  ["billing/a.ts", 'tx.updateTable("accounts")', "accounts may be written by identity only"],
  ["events/a.ts", "sql`with a as (update accounts set a = 1)`", "accounts may be written by identity only"],
  ["account/a.ts", "tx.deleteFrom(table)", "names a table that it writes by a variable"],
  ["databases/a.ts", 'import { f } from "../../../agent/src/config.ts"', "leaves its package"],
  ["../../contract/src/a.ts", 'import { f } from "fastify"', "is not for this package"],
  ["../../agent/src/a.ts", 'import { f } from "@moorage/contract"', "is not for this package"],
  ["../../testkit/src/a.ts", 'import { f } from "@moorage/contract"', "is not for this package"],
  ["../../agent/src/node/a.ts", 'import type { B } from "../restore/b.ts"', "node may not use restore"],
  ["../../agent/src/attic/a.ts", 'import { b } from "../base/b.ts"', "attic has no place in the order"],
])("a violation is found: %s with %s", (path, text, reason) => {
  expect(faults({ [normalize(controlPlane + path)]: text })).toEqual([expect.stringContaining(reason)]);
});

test("two folders that import each other are found", () => {
  const found = faults({
    [`${controlPlane}images/model/a.ts`]: 'import type { B } from "../api/b.ts"',
    [`${controlPlane}images/api/b.ts`]: 'import { a } from "../model/a.ts"; import { c } from "../model/c.ts"',
  });
  expect(found).toEqual([`${controlPlane}images/model/a.ts: ../api/b.ts is a folder that imports this one too`]);
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
