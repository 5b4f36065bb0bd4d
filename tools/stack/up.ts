import { mkdir } from "node:fs/promises";
import { authUrl, docsUrl, region } from "./addresses.ts";
import { ensureBuckets } from "./bucket.ts";
import { writeConfigFiles } from "./config-files.ts";
import { isHealthy, isStale, pidOf, services, start, stop, waitHealthy } from "./control.ts";
import { ensureWorkflowBundle, migrate } from "./control-plane.ts";
import { ensureDocs } from "./docs.ts";
import { ensureDnsDatabase, ensureZone } from "./dns-zone.ts";
import { envFile, writeEnvFile } from "./env-file.ts";
import { hostOf, hostsUpTo, mostHosts } from "./hosts.ts";
import { engineFact, ensureImageStore } from "./image-store.ts";
import { ensureKeys } from "./keys.ts";
import { ensureNetwork } from "./network.ts";
import { inStack, mailDir, stackName } from "./paths.ts";
import { ensureCluster, ensureDatabase, ensureImageServerRole } from "./postgres.ts";
import { type Compute, seedCompute } from "./seed-compute.ts";
import { keepSeed, type Seed, seedCatalogue, seedHost, waitHostsActive } from "./seed.ts";
import { hosts, objectFolders, type Service } from "./services.ts";
import { ensureSupervisor, logFile, writeServiceDir } from "./supervisor.ts";
import { temporalSchema } from "./temporal-schema.ts";

/** Applies the whole configuration; what exists already is left as it is, so `up` works from any state. */
export async function up(hostCount: number | undefined): Promise<void> {
  const started = Date.now();
  await makeFolders(hostCount);
  const docs = ensureDocs();
  await timed("files", Promise.all([ensureKeys(), writeConfigFiles(), ensureCluster(), ensureDnsDatabase()]));
  await timed("image", ensureImageStore(await engineFact("sha256")));
  await timed("network", ensureNetwork(hosts()));
  const all = await services();
  await timed("supervisor", supervise(all));

  await startParts(all);
  await startControlPlane(all.filter((service) => service.kind === "control-plane"));
  const seed = await timed("seed", seedAll());
  await startAgents(all.filter((service) => service.kind === "agent"));
  await writeEnvFile(seed, hosts().length);
  await timed("docs", docs);
  console.log(`Up in ${seconds(started)}.\n${howToUse(seed)}`);
}

/** As in the agent's configuration: the path of a node's socket is 59 characters longer, and may have at most 107. */
const longestHostDir = 48;

async function makeFolders(hostCount: number | undefined): Promise<void> {
  if (hostCount !== undefined && !(hostCount >= 1 && hostCount <= mostHosts)) {
    throw new Error(`--hosts takes a number from 1 to ${mostHosts}.`);
  }
  for (const folder of ["hosts", "crash", "mail", ...objectFolders]) {
    await mkdir(inStack(folder), { recursive: true });
  }
  const desiredHosts = hostCount ?? Math.max(1, hosts().length);
  if (desiredHosts < hosts().length)
    console.log(`  keeping ${hosts().length} hosts: a host that was made stays until down --wipe`);
  for (const host of hostsUpTo(desiredHosts)) {
    if (host.dir.length > longestHostDir)
      throw new Error(`${host.dir} is too long for unix sockets below it: move the checkout, or shorten the name.`);
    await mkdir(host.dir, { recursive: true });
  }
}

async function supervise(all: readonly Service[]): Promise<void> {
  for (const service of all) await writeServiceDir(service);
  await ensureSupervisor(all.map((service) => service.name));
}

async function startParts(all: readonly Service[]): Promise<void> {
  const first = all.filter((service) => service.kind !== "agent" && service.kind !== "control-plane");
  const independent = first.filter((service) => service.name !== "temporal");
  await startFresh(independent);
  for (const { name } of independent) await timed(name, waitHealthy(name));
  await timed("zone", ensureZone());
  await timed("buckets", ensureBuckets());
  await timed("databases", ensureDatabase());
  const temporal = first.filter((service) => service.name === "temporal");
  if (!(await isHealthy("temporal"))) await timed("temporal-schema", temporalSchema());
  await startFresh(temporal);
  await timed("temporal", waitHealthy("temporal"));
}

async function startControlPlane(own: readonly Service[]): Promise<void> {
  if (own.some((service) => pidOf(service.name) === undefined || isStale(service))) {
    await timed("bundle", ensureWorkflowBundle());
    await timed("migrate", migrate());
    await ensureImageServerRole();
  }
  await startFresh(own);
  for (const { name } of own) await timed(name, waitHealthy(name));
}

/** Starts what is not running, and restarts what runs from older files. */
async function startFresh(some: readonly Service[]): Promise<void> {
  const stale = some.filter((service) => pidOf(service.name) !== undefined && isStale(service));
  await stop(stale.map((service) => service.name));
  await start(some.map((service) => service.name));
}

async function seedAll(): Promise<Seed & { compute: Compute }> {
  const seed = await seedCatalogue();
  await keepSeed(seed);
  for (const host of hosts()) await seedHost(host);
  return { ...seed, compute: await seedCompute(hostOf(1)) };
}

/** A machine that is busy with other stacks takes several times as long as an idle one. */
const patienceSeconds = 600;

async function startAgents(agents: readonly Service[]): Promise<void> {
  await startFresh(agents);
  const missing = await timed("hosts", waitHostsActive(hosts(), patienceSeconds));
  if (missing.length === 0) return;
  const logs = missing.map((name) => logFile(name.replace("host", "agent"))).join(", ");
  throw new Error(`Not active after ${patienceSeconds} s: ${missing.join(", ")}; the agents' logs: ${logs}`);
}

const seconds = (since: number): string => `${((Date.now() - since) / 1000).toFixed(1)} s`;

async function timed<T>(name: string, work: Promise<T>): Promise<T> {
  const started = Date.now();
  const result = await work;
  console.log(`  ${name.padEnd(16)} ${seconds(started)}`);
  return result;
}

const option = stackName === "" ? "" : ` --name ${stackName}`;

const howToUse = ({ plan, engine, owner }: Seed): string => `
Use it:
  . ${envFile}
  curl -s -H "Authorization: Bearer $MOORAGE_TOKEN" -H 'Content-Type: application/json' \\
    $MOORAGE_URL/v4/databases/mysql/instances \\
    -d '{"label":"orders","region":"${region}","type":"${plan}","engine":"${engine}"}'
Sign in: ${authUrl}/security as ${owner.username} with the password in ${envFile}; letters are in ${mailDir}
Read:    ${docsUrl}
See it:  pnpm stack status${option}          End it:  pnpm stack down${option}`;
