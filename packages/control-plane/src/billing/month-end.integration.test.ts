import { Context } from "@temporalio/activity";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { setPrice, used } from "#testing/invoiced.ts";
import { startTemporal, startWorker, type Temporal } from "#testing/temporal.ts";
import { newWorld, type World } from "#testing/world.ts";
import { createInvoiceActivities, runBillingBatch } from "./invoice-activities.ts";
import { verifyLedger } from "./ledger.ts";
import { createMonthEndJob, workflowIdOfRun } from "./month-end.ts";

/** Temporal is down: nothing listens here. Without interceptors a call is not retried. */
const down = new Client({
  connection: Connection.lazy({ address: "127.0.0.1:1", connectTimeout: 200, interceptors: [] }),
});

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

/** Accounts that each have a database since the end of September. */
async function billedAccounts(accounts: number) {
  const world = await newWorld();
  world.time.now = new Date("2026-11-01T00:15:00Z");
  await setPrice(world, { hourly: 30_000, monthly: 15_000_000 });
  const ids: number[] = [];
  for (let n = 0; n < accounts; n++) {
    const { accountId } = await world.customer();
    await used(world, accountId, { from: "2026-09-30T23:00:00Z" });
    ids.push(accountId);
  }
  return Object.assign(world, { ids });
}

const jobOf = (world: World, client: Client) =>
  createMonthEndJob({ ...world, temporal: client, invoiceDelaySeconds: 600, accountsEach: 2 });
const runsOf = ({ db }: World) =>
  db.selectFrom("billing_runs").selectAll().orderBy("month").orderBy("first_account").execute();
const openRunsOf = async (world: World): Promise<number> =>
  (await runsOf(world)).filter(({ finished_at }) => finished_at === null).length;
const invoicesOf = async ({ db }: World): Promise<string[]> =>
  (
    await db.selectFrom("invoices").select(["account_id", "month"]).orderBy("account_id").orderBy("month").execute()
  ).map(({ account_id, month }) => `${account_id} ${month.slice(0, 7)}`);
/** With Temporal down, only the rows are written. */
const cut = (world: World): Promise<void> => jobOf(world, down)().catch(() => {});

const PATIENCE_MS = 300_000;

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() >= end) throw new Error(`It is not so that ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test("finished months are invoiced once, by workflows for a few accounts each", async () => {
  await using world = await billedAccounts(5);
  const more = createInvoiceActivities({ ...world, afterInvoices: async () => {} });
  await using worker = await startWorker(world, temporal, more);
  const job = jobOf(world, worker.client);

  await Promise.all([job(), job()]);
  await until("every run is finished", async () => (await openRunsOf(world)) === 0);
  await job();

  const runs = await runsOf(world);
  expect(runs.map(({ month, first_account, last_account }) => [month, first_account, last_account])).toEqual(
    ["2026-09-01", "2026-10-01"].flatMap((month) => [
      [month, world.ids[0], world.ids[1]],
      [month, world.ids[2], world.ids[3]],
      [month, world.ids[4], world.ids[4]],
    ]),
  );
  expect(await invoicesOf(world)).toEqual(world.ids.flatMap((id) => [`${id} 2026-09`, `${id} 2026-10`]));
  expect(await verifyLedger(world.db)).toEqual({ rows: 10, faults: [] });
});

test("a lost workflow is started again, because its run is open", async () => {
  await using world = await billedAccounts(1);
  await world.db
    .updateTable("accounts")
    .set({ created_at: new Date("2026-10-01T00:00:00Z") })
    .execute();
  let lost: string | undefined;
  const more = createInvoiceActivities({
    ...world,
    // An attempt of the lost workflow may still run when the next one is started.
    afterInvoices: async () => {
      if (lost === undefined || Context.current().info.workflowExecution?.runId === lost) throw new Error("not yet");
    },
  });
  await using worker = await startWorker(world, temporal, more);
  const job = jobOf(world, worker.client);
  const run = worker.client.workflow.getHandle(
    workflowIdOfRun({ month: "2026-10-01", firstAccount: world.ids[0] as number }),
  );
  await job();
  lost = (await run.describe()).runId;
  await run.terminate("lost");

  await job();
  await until("the run is finished", async () => (await openRunsOf(world)) === 0);

  expect((await run.describe()).runId).not.toBe(lost);
  expect(await invoicesOf(world)).toHaveLength(1);
});

test("a month is not closed until some time after its end, and a missed one is closed later", async () => {
  await using world = await billedAccounts(1);
  const months = async () => (await runsOf(world)).map(({ month }) => month);

  world.time.now = new Date("2026-10-01T00:09:59Z");
  await cut(world);
  expect(await months()).toEqual([]);
  world.time.now = new Date("2026-12-01T00:09:59Z");
  await cut(world);
  expect(await months()).toEqual(["2026-09-01", "2026-10-01"]);
  world.time.now = new Date("2026-12-01T00:10:00Z");
  await cut(world);
  expect(await months()).toEqual(["2026-09-01", "2026-10-01", "2026-11-01"]);
});

test("one account that cannot be invoiced does not block the others; its run stays open", async () => {
  await using world = await billedAccounts(2);
  const [first, second] = world.ids as [number, number];
  const size = { memory_mb: 1024, disk_mb: 10_240, vcpus: 1 };
  const plan = { label: "Odd", class: "standard", ...size, hourly_micros: 0, monthly_micros: 0, deprecated: false };
  await world.db
    .insertInto("plans")
    .values({ ...plan, id: "odd" })
    .execute();
  await world.db.deleteFrom("prices").where("plan", "=", "odd").execute();
  await world.db
    .insertInto("usage_facts")
    .values({
      account_id: first,
      resource_type: "database",
      resource_id: 999_999,
      sequence: 1,
      state: "running",
      at: new Date("2026-10-05T00:00:00Z"),
      plan: "odd",
      nodes: 1,
      region: "eu-central",
      label: "odd",
    })
    .execute();
  await cut(world);
  const deps = { ...world, afterInvoices: async () => {}, limited: (batch: () => Promise<void>) => batch() };
  const end = () => runBillingBatch(deps, { month: "2026-10-01", firstAccount: first });

  await expect(end()).rejects.toThrow(`account ${first} could not be invoiced`);
  expect(await invoicesOf(world)).toEqual([`${second} 2026-09`, `${second} 2026-10`]);
  expect(await openRunsOf(world)).toBe(2);

  const price = { hourly_micros: 1, monthly_micros: 1, suspended_hourly_micros: 0, suspended_monthly_micros: 0 };
  await world.db
    .insertInto("prices")
    .values({ ...price, plan: "odd", valid_from: new Date("2000-01-01T00:00:00Z") })
    .execute();
  await end();

  expect(await invoicesOf(world)).toHaveLength(4);
  expect(await openRunsOf(world)).toBe(1);
});

test("a control plane that was set back creates no invoices: their numbers could be used twice", async () => {
  await using world = await billedAccounts(1);
  await cut(world);
  await world.db.updateTable("installation").set({ set_back_at: world.time.now }).execute();
  const deps = { ...world, afterInvoices: async () => {}, limited: (batch: () => Promise<void>) => batch() };
  const firstAccount = world.ids[0] as number;

  await expect(runBillingBatch(deps, { month: "2026-10-01", firstAccount })).rejects.toThrow("restored");
  world.time.now = new Date("2026-12-15T00:00:00Z");
  await cut(world);

  expect(await invoicesOf(world)).toEqual([]);
  expect((await runsOf(world)).map(({ month }) => month)).toEqual(["2026-09-01", "2026-10-01"]);
});
