import { startPrimaryAndStandby } from "@moorage/testkit/postgres-standby.ts";
import { createRandom } from "@moorage/testkit/random.ts";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { INSTANCES } from "#testing/active-database.ts";
import { startGateway } from "#testing/gateway.ts";
import { owe } from "#testing/owe.ts";
import { newPayingWorld } from "#testing/paying-world.ts";
import { createTemplate } from "#testing/postgres-for-tests.ts";
import { type SimulatedAgent, simulateAgent } from "#testing/simulated-agent.ts";

/** `MOORAGE_TRIALS=200` is the long form. */
const TRIALS = Number(process.env["MOORAGE_TRIALS"] ?? 2);
const seeds = Array.from({ length: TRIALS }, (_, index) => index + Number(process.env["MOORAGE_SEED"] ?? 1));

const [HOSTS, TENANTS, DATABASES, LOST] = [3, 4, 6, 10];
const SOURCES = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];

type Trial = Awaited<ReturnType<typeof startTrial>>;

/** A control plane on a PostgreSQL with an asynchronous standby, hosts with databases, and tenants who owe money. */
async function startTrial(seed: number) {
  const parts = new AsyncDisposableStack();
  const random = createRandom(seed);
  const pair = await startPrimaryAndStandby();
  parts.defer(pair.stop);
  await createTemplate(pair.urlOf);
  const world = parts.use(await newPayingWorld({ postgres: pair.urlOf }));
  const gateway = parts.use(await startGateway(world));
  const agents: SimulatedAgent[] = [];
  for (let host = 0; host < HOSTS; host++) agents.push(simulateAgent(gateway, await gateway.enrolledHost()));
  const poll = async () => void (await Promise.all(agents.map((agent) => agent.poll())));
  await poll();
  const tenants = [];
  for (let tenant = 0; tenant < TENANTS; tenant++) tenants.push(await world.payer());

  /** Takes an operation to its end, as its workflow does. */
  const finish = async (id: number, apply: (id: number) => Promise<unknown>): Promise<void> => {
    await apply(id);
    await poll();
    await world.activities.endChange(id, { done: true });
  };
  const databases = [];
  for (let index = 0; index < DATABASES; index++) {
    const tenant = random.oneOf(tenants);
    const { body } = await tenant.create({ allow_list: SOURCES });
    await finish((await world.lastOperation()).id, world.activities.setDesiredNodes);
    databases.push({ id: body.id, url: `${INSTANCES}/${body.id}`, tenant, told: SOURCES });
  }
  return { random, pair, world, agents, poll, finish, tenants, databases, dispose: () => parts.disposeAsync() };
}
type Database = Trial["databases"][number];

const someSources = ({ random }: Trial): string[] => SOURCES.filter(() => random.below(2) === 0);

async function accept({ world }: Trial, { tenant, url }: Database, allow_list: string[]): Promise<number> {
  expect(await tenant.put(url, { allow_list })).toMatchObject({ status: 200 });
  return (await world.lastOperation()).id;
}

/** Accepted, applied and told. */
async function change(trial: Trial, database: Database): Promise<void> {
  const allow_list = someSources(trial);
  if (allow_list.toSorted().join() === database.told.toSorted().join()) return;
  await trial.finish(await accept(trial, database, allow_list), trial.world.activities.applyChange);
  database.told = allow_list;
}

const later = ({ time }: Trial["world"], seconds: number): void => {
  time.now = new Date(time.now.getTime() + seconds * 1000);
};

const ascending = (a: number, b: number): number => a - b;
const chargedOf = ({ world }: Trial): number[] => world.fake.charged().map(({ cents }) => cents);

/** Everything that raises a revision or takes money, in the moments after the promotion. */
async function expectRefusals(trial: Trial, idle: readonly Database[], open: readonly number[]): Promise<void> {
  const { world, tenants } = trial;
  const before = chargedOf(trial);
  for (const { tenant, url } of idle)
    expect(await tenant.put(url, { allow_list: ["198.51.100.9"] })).toMatchObject({ status: 503 });
  for (const id of open) await expect(world.activities.applyChange(id)).rejects.toThrow("has not answered since");
  for (const tenant of tenants) {
    expect(await tenant.create()).toMatchObject({ status: 503 });
    expect(await tenant.post("/v4/account/payments", { usd: "10.00" })).toMatchObject({ status: 503 });
  }
  await world.chargeJob();
  expect(chargedOf(trial)).toEqual(before);
}

async function compareOrRecover({ world, poll }: Trial): Promise<"proven" | "recovered"> {
  const installation = () => world.db.selectFrom("installation").selectAll().executeTakeFirstOrThrow();
  await poll();
  await world.run("proveCurrent");
  await world.run("proveCurrent");
  if ((await installation()).set_back_at === null) return "proven";
  let done = false;
  const command = world.operator.post("/admin/recover", { wait_seconds: 300 }).finally(() => {
    done = true;
  });
  while (!done) await poll();
  expect(await command).toMatchObject({ status: 200 });
  await poll();
  return "recovered";
}

test.each(seeds)(
  "a standby without the last changes is promoted: nothing is let in again, no debt is charged twice (seed %i)",
  async (seed) => {
    const trial = await startTrial(seed);
    try {
      const { random, world, pair, databases, tenants } = trial;
      const debts = new Map(tenants.map((tenant, index) => [tenant, 1000 + 100 * index]));
      for (const [tenant, cents] of debts) await owe(world, tenant.accountId, cents * 10_000);
      const changing = databases.slice(0, random.below(DATABASES - 1) + 1);
      const open = new Map<Database, { id: number; list: string[] }>();
      for (const database of databases.slice(changing.length)) {
        const list = ["192.0.2.9"];
        open.set(database, { id: await accept(trial, database, list), list });
      }
      await pair.untilReplicated();
      await pair.cutReplication();
      const lost = random.below(LOST);
      for (let step = 0; step < lost; step++)
        if (random.below(3) === 0) await world.chargeJob();
        else await change(trial, random.oneOf(changing));
      // The provider's event was acknowledged, so it is not sent again.
      await world.deliverAll();

      await pair.promote();
      await expect
        .poll(() =>
          sql`select 1`.execute(world.db).then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);

      await expectRefusals(
        trial,
        changing,
        [...open.values()].map(({ id }) => id),
      );
      await compareOrRecover(trial);
      // Calls to the provider that began before the promotion have ended by then.
      later(world, 120);
      await world.run("reconcileCharges");
      for (const [database, { id, list }] of open) {
        await trial.finish(id, world.activities.applyChange);
        database.told = list;
      }
      for (let round = 0; round < 3; round++) {
        await world.chargeJob();
        await world.deliverAll();
        later(world, 3600);
      }

      for (const { id, url, tenant, told } of databases) {
        expect((await tenant.get<{ allow_list: string[] }>(url)).body.allow_list.toSorted()).toEqual(told.toSorted());
        const spec = trial.agents
          .flatMap(({ specs }) => [...specs.values()])
          .find(({ database }) => database.id === id);
        expect(spec?.firewall?.sources.toSorted()).toEqual(told.map((address) => `${address}/32`).toSorted());
      }
      expect(chargedOf(trial).toSorted(ascending)).toEqual([...debts.values()].toSorted(ascending));
      for (const tenant of tenants) expect(await tenant.get("/v4/account")).toMatchObject({ body: { balance: 0 } });
    } finally {
      await trial.dispose();
    }
  },
);
