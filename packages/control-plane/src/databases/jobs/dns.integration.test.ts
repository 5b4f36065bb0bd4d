import { type PowerDns, startPowerDns } from "@moorage/testkit/power-dns.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPowerDns, type DnsServer } from "#dns/index.ts";
import { shortenDeadline } from "#testing/database-on-agent.ts";
import { startGateway } from "#testing/gateway.ts";
import { simulateAgent } from "#testing/simulated-agent.ts";
import { startTemporal, startWorker, type Temporal } from "#testing/temporal.ts";
import { newWorld, type World, ZONE } from "#testing/world.ts";
import { createDnsActivities, createDnsJob } from "./dns-activities.ts";
import { texts } from "../model/texts.ts";

const INSTANCES = "/v4/databases/mysql/instances";
const own = { address6: "fd00::1", private_address: "10.126.0.1" };

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

/** A host whose agent applies every spec at once. */
async function startHost(world: World) {
  const gateway = await startGateway(world);
  const host = await gateway.enrolledHost(own);
  const agent = simulateAgent(gateway, host);
  // Seen from now on: a host that was never seen gets no database.
  await agent.poll();
  let polls = true;
  const polling = (async () => {
    while (polls) await agent.poll();
  })();
  return {
    ...(await world.hostRow(host.id)),
    async [Symbol.asyncDispose]() {
      polls = false;
      await polling;
      await gateway[Symbol.asyncDispose]();
    },
  };
}

const dnsDepsOf = (world: World, dns: PowerDns, dnsServer: DnsServer = createPowerDns(dns.settings)) => ({
  db: world.db,
  clock: world.clock,
  zone: ZONE,
  dnsServer,
});

/** Both hostnames of a database, as a client resolves them. */
const found = async (dns: PowerDns, id: number): Promise<[string[], string[]]> => [
  await dns.lookUp(`db-${id}-mysql-primary.${ZONE}`),
  await dns.lookUp(`db-${id}-mysql-primary-private.${ZONE}`),
];
const nothing = [[], []];
const addressesOf = (host: { address: string }) => [[host.address, own.address6], [own.private_address]];

async function until<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (isSo(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
const settled = (world: World) =>
  until(world.lastOperation, ({ settled_at }) => settled_at !== null).then(({ outcome }) => outcome);

test("DNS records exist before the database is active, and are gone before its deletion is finished", async () => {
  await using world = await newWorld();
  await using dns = await startPowerDns(ZONE);
  await using running = new AsyncDisposableStack();
  const host = running.use(await startHost(world));
  /** Distinct ones: Temporal repeats a step that takes too long. */
  const recorded = new Set<string>();
  const server = createPowerDns(dns.settings);
  const deps = dnsDepsOf(world, dns, {
    async setRecords(sets) {
      await server.setRecords(sets);
      const [database] = await world.db.selectFrom("databases").select("status").execute();
      const event = (await world.events()).at(-1);
      const addresses = sets.some((set) => set.addresses.length > 0) ? "some" : "none";
      recorded.add(`database ${database?.status}, event ${event?.status}, addresses: ${addresses}`);
    },
  });
  running.use(await startWorker(world, temporal, createDnsActivities(deps)));
  const alice = await world.customer();

  const { id, hosts } = (await alice.create()).body;
  expect(hosts).toEqual({ primary: null, secondary: null });
  expect(await settled(world)).toBe("done");
  expect([...recorded]).toEqual(["database provisioning, event started, addresses: some"]);
  expect(await found(dns, id)).toEqual(addressesOf(host));
  const shown = {
    primary: `db-${id}-mysql-primary.${ZONE}`,
    secondary: `db-${id}-mysql-primary-private.${ZONE}`,
  };
  expect((await alice.get(`${INSTANCES}/${id}`)).body).toMatchObject({ status: "active", hosts: shown });
  expect((await alice.get(INSTANCES)).body).toMatchObject({ data: [{ hosts: shown }] });

  await alice.delete(`${INSTANCES}/${id}`);
  expect(await settled(world)).toBe("done");
  expect([...recorded].slice(1)).toEqual(["database active, event started, addresses: none"]);
  expect(await found(dns, id)).toEqual(nothing);
  expect((await world.events()).map(({ status }) => status)).toEqual(["finished", "finished"]);
});

test("while the DNS server is down a database waits, and becomes active when the server is back", async () => {
  await using world = await newWorld();
  await using dns = await startPowerDns(ZONE);
  await using running = new AsyncDisposableStack();
  const host = running.use(await startHost(world));
  running.use(await startWorker(world, temporal, createDnsActivities(dnsDepsOf(world, dns))));
  const alice = await world.customer();
  await dns.stop();

  const { id } = (await alice.create()).body;
  await until(world.nodes, ([node]) => node?.observed_state === "running");
  await new Promise((resolve) => setTimeout(resolve, 3000));
  expect((await alice.get(`${INSTANCES}/${id}`)).body).toMatchObject({
    status: "provisioning",
    hosts: { primary: null },
  });
  await dns.start();

  expect(await settled(world)).toBe("done");
  expect(await found(dns, id)).toEqual(addressesOf(host));
});

test("a DNS server that is down for too long fails the database with the reason", async () => {
  await using world = await newWorld();
  await using dns = await startPowerDns(ZONE);
  await using running = new AsyncDisposableStack();
  running.use(await startHost(world));
  const alice = await world.customer();
  await dns.stop();
  const { id } = (await alice.create()).body;
  // It runs before its deadline passes, however slowly it is started: only its DNS records are missing.
  await world.activities.setDesiredNodes((await world.lastOperation()).id);
  await until(world.nodes, ([node]) => node?.observed_state === "running");
  await shortenDeadline(world, 1000);
  running.use(await startWorker(world, temporal, createDnsActivities(dnsDepsOf(world, dns))));

  expect(await settled(world)).toBe("failed");
  expect((await alice.get(`${INSTANCES}/${id}`)).body).toMatchObject({ status: "failed", hosts: { primary: null } });
  expect((await world.events())[0]?.message_code).toBe(texts.dnsNotPublished().code);
});

test("the job corrects active databases without DNS records and deleted ones with them", async () => {
  await using world = await newWorld();
  await using dns = await startPowerDns(ZONE);
  await using running = new AsyncDisposableStack();
  const host = running.use(await startHost(world));
  const alice = await world.customer();
  const deps = dnsDepsOf(world, dns);
  const runDnsJob = createDnsJob({ ...deps, eachDue: world.eachDue });
  // Like one that was created before there were DNS records.
  const { id } = (await alice.create()).body;
  const operation = await world.lastOperation();
  await runDnsJob();
  expect(await found(dns, id)).toEqual(nothing);
  await world.activities.setDesiredNodes(operation.id);
  await world.activities.endChange(operation.id, { done: true });

  await runDnsJob();
  expect(await found(dns, id)).toEqual(addressesOf(host));
  expect((await alice.get(`${INSTANCES}/${id}`)).body).toMatchObject({ hosts: { primary: expect.any(String) } });

  await world.db.updateTable("databases").set({ deleted_at: world.clock() }).execute();
  await runDnsJob();
  expect(await found(dns, id)).toEqual(nothing);
  expect(await world.databaseRow(id)).toMatchObject({ dns_published_at: null });
});

// An attempt that Temporal gave up may still be running in a worker that was held up.
test("publishing late, after the deletion, leaves no DNS record behind", async () => {
  await using world = await newWorld();
  await using dns = await startPowerDns(ZONE);
  await using running = new AsyncDisposableStack();
  running.use(await startHost(world));
  const alice = await world.customer();
  const { publishDnsRecords } = createDnsActivities(dnsDepsOf(world, dns));
  const { id } = (await alice.create()).body;
  const operation = await world.lastOperation();
  await world.activities.setDesiredNodes(operation.id);
  await world.db.updateTable("databases").set({ deleted_at: world.clock() }).execute();

  await publishDnsRecords(operation.id);

  expect(await found(dns, id)).toEqual(nothing);
});
