import { until } from "@moorage/testkit/until.ts";
import { sourcesOf } from "../../packages/control-plane/src/databases/model/allow-list.ts";
import { primaryHostname, privateHostname } from "../../packages/control-plane/src/databases/model/entity.ts";
import { brokenImages } from "../../packages/control-plane/src/testing/broken-images.ts";
import { zone } from "../../tools/stack/addresses.ts";
import {
  containers,
  firewallSources,
  hostNumbers,
  mounts,
  nodeFolders,
  nodeNamespaces,
  scratch,
  specs,
  throwAwayContainers,
  volumes,
} from "./host.ts";
import { stackImageStores } from "./images.ts";
import { query } from "./records.ts";
import { env } from "./stack-env.ts";
import { storedObjects } from "./stored-objects.ts";

/** Every broken invariant, in words; empty when rows and hosts agree and nothing is half done. */
export async function brokenInvariants(): Promise<string[]> {
  return [
    ...(await brokenRows()),
    ...(await brokenHosts()),
    ...(await brokenFirewalls()),
    ...(await brokenNames()),
    ...(await brokenObjects()),
    ...(await brokenImages(query, stackImageStores().all)),
  ];
}

/** Operations of earlier tests may still be ending. */
export async function untilNothingBroken(): Promise<void> {
  await until("rows and hosts agree", 60, async () => {
    const broken = await brokenInvariants();
    if (broken.length > 0) throw new Error(broken.join("; "));
    return true;
  });
}

const rowRules: Record<string, string> = {
  "an operation is open": "select id, kind from operations where settled_at is null",
  "an event has not ended": "select id, action from events where status in ('started', 'scheduled')",
  "an operation was settled other than once":
    "select target, action, count(*) from audit where actor = 'worker' and detail ? 'operation' group by target, action, detail->>'operation' having count(*) <> 1",
  "an operation without its events":
    "select o.id, o.kind, count(e.id) from operations o left join events e on e.operation_id = o.id and e.action <> 'database_failover' group by o.id, o.kind having count(e.id) <> case o.kind when 'resizeDatabase' then 3 when 'moveEntities' then 2 else 1 end",
  "an event that ended otherwise than its operation":
    "select o.id from operations o join events e on e.id = o.event_id where (o.outcome = 'done') <> (e.status = 'finished')",
  "a database has other than its nodes":
    "select d.id, count(n.id), count(distinct n.host_id) as hosts, count(distinct n.ordinal) as ordinals, count(distinct n.port) as ports from databases d left join nodes n on n.database_id = d.id and n.released_at is null group by d.id, d.cluster_size, d.deleted_at, d.status having count(n.id) <> case when d.deleted_at is null and d.status <> 'failed' then d.cluster_size else 0 end or count(distinct n.host_id) <> count(n.id) or count(distinct n.ordinal) <> count(n.id) or count(distinct n.port) > 1",
  "a cluster has other members than its nodes":
    "select n.id from nodes n join databases d on d.id = n.database_id left join members m on m.node_id = n.id where n.released_at is null and (m.node_id is not null) <> (d.cluster_size > 1) or n.released_at is null and n.replaced_at is not null",
  "a member's spec has other members than there are":
    "select n.id from nodes n join databases d on d.id = n.database_id where n.released_at is null and d.cluster_size > 1 and (select array_agg(o.id::text order by o.ordinal) from nodes o where o.database_id = d.id and o.released_at is null) is distinct from (select array_agg(m->>'node') from jsonb_array_elements(n.desired_spec->'cluster'->'members') m)",
  "a member has a permission that should have been taken back":
    "select id from nodes where released_at is null and desired_spec->'cluster' ?| array['bootstrap', 'stay_out', 'reclone', 'make_primary']",
  "an asynchronous cluster has no primary among its nodes, or another cluster has one":
    "select d.id from databases d left join primary_terms l on l.database_id = d.id left join nodes n on n.id = l.node_id and n.database_id = d.id and n.released_at is null where d.deleted_at is null and d.status <> 'failed' and (n.id is not null) <> (d.replication_type = 'asynch')",
  "a member's spec has another primary":
    "select n.id from nodes n left join primary_terms l on l.database_id = n.database_id where n.released_at is null and (n.desired_spec->'cluster'->'primary'->>'node', n.desired_spec->'cluster'->'primary'->>'term') is distinct from (l.node_id::text, l.term::text)",
  "a host's reservation is not the sum of its nodes":
    "select h.name, reserved_memory_mb, coalesce(sum(n.memory_mb), 0) from hosts h left join nodes n on n.host_id = h.id and n.released_at is null group by h.id having reserved_memory_mb <> coalesce(sum(n.memory_mb), 0) or reserved_disk_mb <> coalesce(sum(n.disk_mb), 0)",
  "an account's counters are not the sum of its databases":
    "select a.email, a.databases, count(d.id) from accounts a left join databases d on d.account_id = a.id and d.deleted_at is null group by a.id having a.databases <> count(d.id) or a.nodes <> coalesce(sum(d.cluster_size), 0)",
  "an account's events have a gap":
    "select a.email, event_seq, count(e.id) from accounts a left join events e on e.account_id = a.id group by a.id having event_seq <> count(e.id) or count(e.id) <> count(distinct e.seq)",
  "a transitional status":
    "select id, status from databases where deleted_at is null and status not in ('active', 'suspended', 'failed')",
  "a signal was not sent": "select id from signals",
};

async function brokenRows(): Promise<string[]> {
  const broken: string[] = [];
  for (const [rule, text] of Object.entries(rowRules)) {
    for (const row of await query(text)) broken.push(`${rule}: ${JSON.stringify(row)}`);
  }
  return broken;
}

/**
 * A suspended node keeps its mount and its namespace until its host loses power, and gets them back when it is resumed.
 */
async function brokenHosts(): Promise<string[]> {
  const nodes = await query<{ id: string; host: string; powered: boolean }>(
    "select nodes.id, hosts.name as host, powered from nodes join hosts on hosts.id = host_id join databases on databases.id = database_id where released_at is null",
  );
  const broken: string[] = [];
  for (const n of await livingHosts()) {
    const here = nodes.filter(({ host }) => host === `host-${n}`);
    const expected = here.map(({ id }) => id);
    const found = await containers(n);
    differ(
      broken,
      `containers of host ${n}`,
      expected,
      found.map(({ node }) => node),
    );
    differ(
      broken,
      `running containers of host ${n}`,
      here.filter(({ powered }) => powered).map(({ id }) => id),
      found.filter(({ running }) => running).map(({ node }) => node),
    );
    differ(broken, `volumes of host ${n}`, expected, await volumes(n));
    differ(broken, `throw-away containers of host ${n}`, [], await throwAwayContainers(n));
    differ(broken, `scratch files of host ${n}`, [], await scratch(n));
    differ(broken, `specs of host ${n}`, expected, await specs(n));
    differ(broken, `node folders of host ${n}`, expected, await nodeFolders(n));
    const mounted = (await mounts(n)).map((target) => target.split("/").at(-2) ?? "");
    differ(
      broken,
      `mounts of host ${n}`,
      here.filter(({ id, powered }) => powered || mounted.includes(id)).map(({ id }) => id),
      mounted,
    );
  }
  const own = await ownNamespaces();
  const found = (await nodeNamespaces()).filter((name) => own.has(name));
  differ(
    broken,
    "node namespaces",
    nodes.filter(({ id, powered }) => powered || found.includes(namespaceOf(id))).map(({ id }) => namespaceOf(id)),
    found,
  );
  return broken;
}

/** Hosts that are not marked dead. A dead host does not answer, and leftovers on its disk are ignored. */
export async function livingHosts(): Promise<number[]> {
  const dead = await query<{ name: string }>("select name from hosts where state = 'dead'");
  return hostNumbers().filter((n) => dead.every(({ name }) => name !== `host-${n}`));
}

/** The namespaces of every node that this stack ever had. Other stacks and agents under test have namespaces too. */
export const ownNamespaces = async (): Promise<Set<string>> =>
  new Set((await query<{ id: string }>("select id from nodes")).map(({ id }) => namespaceOf(id)));

/** Read from each host's kernel. Lists in which one range contains another are not compared here. */
export async function brokenFirewalls(): Promise<string[]> {
  const rows = await query<{ host: string; port: number; allow_list: string[] }>(
    "select hosts.name as host, nodes.port, allow_list from nodes join hosts on hosts.id = host_id join databases on databases.id = database_id where released_at is null and powered union all select hosts.name, nodes.port + 8192, allow_list from nodes join hosts on hosts.id = host_id join databases on databases.id = database_id where released_at is null and powered and cluster_size > 1",
  );
  const broken: string[] = [];
  for (const n of await livingHosts()) {
    const found = await firewallSources(n);
    const expected = rows.filter(({ host }) => host === `host-${n}`);
    differ(
      broken,
      `firewall of host ${n}`,
      expected.map(({ port }) => String(port)),
      [...found.keys()].map(String),
    );
    for (const { port, allow_list } of expected)
      differ(broken, `list of port ${port} of host ${n}`, sourcesOf(allow_list), found.get(port) ?? []);
  }
  return broken;
}

/** Read from the DNS server itself. */
async function brokenNames(): Promise<string[]> {
  const rows = await query<{ id: number }>(
    "select id from databases where dns_published_at is not null and deleted_at is null",
  );
  const reply = await fetch(`${env("PDNS_URL")}/api/v1/servers/localhost/zones/${zone}.`, {
    headers: { "x-api-key": env("PDNS_KEY") },
  });
  const { rrsets } = (await reply.json()) as { rrsets: { name: string }[] };
  const names = rrsets.map(({ name }) => name).filter((name) => name.startsWith("db-"));
  const expected = rows.flatMap(({ id }) =>
    [primaryHostname(id, zone), privateHostname(id, zone)].map((name) => `${name}.`),
  );
  const broken: string[] = [];
  differ(broken, "names", expected, [...new Set(names)]);
  return broken;
}

/**
 * Read from the object store itself: every object that a row names exists, and there is no object of a database without
 * an archive. A copy that was interrupted by the deletion of its database is removed with the archive.
 */
async function brokenObjects(): Promise<string[]> {
  const copies = await query<{ place: string; parts: number }>(
    `select ${TIMELINE_PREFIX} || '/copies/' || c.id as place, c.parts from copies c join timelines t on t.id = c.timeline_id where c.doomed_at is null`,
  );
  const logs = await query<{ place: string }>(
    `select ${TIMELINE_PREFIX} || '/logs/' || l.name as place from binary_logs l join timelines t on t.id = l.timeline_id where l.doomed_at is null`,
  );
  const lostTransactions = await query<{ place: string }>(
    `select ${TIMELINE_PREFIX} || '/' || s.name as place from lost_transactions s join timelines t on t.id = s.timeline_id`,
  );
  const archives = await query<{ place: string }>(
    "select 'accounts/' || account_id || '/databases/' || database_id || '/' as place from archives",
  );
  const expectedObjects = [
    ...[...logs, ...lostTransactions].map(({ place }) => place),
    ...copies.flatMap(({ place, parts }) => [
      `${place}/manifest.json`,
      ...Array.from({ length: parts }, (_, n) => `${place}/part-${String(n + 1).padStart(6, "0")}`),
    ]),
  ];
  const archivePrefixes = new Set(archives.map(({ place }) => place));
  const found = new Set(await storedObjects());
  return [
    ...[...found]
      .filter((name) => !archivePrefixes.has(`${name.split("/").slice(0, 4).join("/")}/`))
      .map((name) => `an object of no archive: ${name}`),
    ...expectedObjects.filter((name) => !found.has(name)).map((name) => `an object is missing: ${name}`),
  ];
}
const TIMELINE_PREFIX = "'accounts/' || t.account_id || '/databases/' || t.database_id || '/timelines/' || t.id";

const namespaceOf = (node: string): string => `moor-n-${node.slice(0, 8)}`;

function differ(broken: string[], what: string, expected: readonly string[], found: readonly string[]): void {
  const [a, b] = [[...expected].sort().join(), [...found].sort().join()];
  if (a !== b) broken.push(`${what}: rows have [${a}], found [${b}]`);
}
