import { sql } from "kysely";
import { expect, test, vi } from "vitest";
import { countWaiting } from "#testing/count-waiting.ts";
import { newWorld, PLAN, REGION, type World } from "#testing/world.ts";
import { meter, type UsageFact, usageOf } from "./index.ts";

const at = (time: string): Date => new Date(`2027-${time}Z`);

/** An account, and a function that records states of its database 7. */
async function metered(world: World) {
  const { accountId } = await world.customer();
  const record = (state: UsageFact["state"], when: Date, change: Partial<UsageFact> = {}) =>
    world.db.transaction().execute((tx) =>
      meter(
        tx,
        {
          account_id: accountId,
          resource_type: "database",
          resource_id: 7,
          state,
          plan: PLAN,
          nodes: 1,
          region: REGION,
          label: "shop",
          ...change,
        },
        when,
      ),
    );
  const invoicedThrough = (when: Date) =>
    world.db.updateTable("accounts").set({ invoiced_through: when }).where("id", "=", accountId).execute();
  const facts = async () =>
    (await world.db.selectFrom("usage_facts").select(["sequence", "state", "at"]).orderBy("sequence").execute()).map(
      ({ sequence, state, at: when }) => [sequence, state, when],
    );
  return { accountId, record, facts, invoicedThrough };
}

test("facts are never out of order: a clock that goes back shortens nothing", async () => {
  await using world = await newWorld();
  const { record, facts } = await metered(world);

  await record("running", at("01-05T10:00:00"));
  await record("suspended", at("01-05T09:00:00"));
  await record("ended", at("01-05T11:00:00"));

  expect(await facts()).toEqual([
    [1, "running", at("01-05T10:00:00")],
    [2, "suspended", at("01-05T10:00:00")],
    [3, "ended", at("01-05T11:00:00")],
  ]);
});

test("an unchanged state is not recorded, what never ran does not end, a closed account is not metered", async () => {
  await using world = await newWorld();
  const { accountId, record, facts } = await metered(world);

  await record("ended", at("01-01T00:00:00"));
  await record("running", at("01-02T00:00:00"));
  await record("running", at("01-03T00:00:00"));
  await record("ended", at("01-04T00:00:00"));
  await record("ended", at("01-05T00:00:00"));
  await world.db.updateTable("accounts").set({ closed_at: world.time.now }).where("id", "=", accountId).execute();
  await record("running", at("01-06T00:00:00"));

  expect(await facts()).toEqual([
    [1, "running", at("01-02T00:00:00")],
    [2, "ended", at("01-04T00:00:00")],
  ]);
});

test("a fact written while its month is invoiced waits, and counts from the month's end", async () => {
  await using world = await newWorld();
  const { accountId, record, facts } = await metered(world);
  await record("running", at("01-05T10:00:00"));
  const invoicing = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const invoice = world.db.transaction().execute(async (tx) => {
    await tx
      .updateTable("accounts")
      .set({ invoiced_through: at("02-01T00:00:00") })
      .where("id", "=", accountId)
      .execute();
    locked.resolve();
    await invoicing.promise;
  });
  await locked.promise;

  const recorded = record("ended", at("01-31T23:30:00"));
  await vi.waitUntil(async () => (await countWaiting(world)) > 0, { timeout: 30_000 });
  expect(await facts()).toHaveLength(1);
  invoicing.resolve();
  await Promise.all([invoice, recorded]);

  expect((await facts()).at(-1)).toEqual([2, "ended", at("02-01T00:00:00")]);
});

test.each(["update usage_facts set plan = plan", "delete from usage_facts"])(
  "facts are immutable: %s",
  async (statement) => {
    await using world = await newWorld();
    const { record } = await metered(world);
    await record("running", at("01-05T10:00:00"));

    await expect(sql.raw(statement).execute(world.db)).rejects.toThrow("Rows of usage_facts are written once.");
  },
);

test("the usage of a month is each resource's state at its start, and all changes before its end", async () => {
  await using world = await newWorld();
  const { accountId, record } = await metered(world);
  const other = await metered(world);
  await record("running", at("01-05T10:00:00"));
  await record("suspended", at("01-06T10:00:00"));
  await record("running", at("01-07T10:00:00"), { resource_id: 8 });
  await record("ended", at("01-08T10:00:00"), { resource_id: 8 });
  await record("running", at("02-01T00:00:00"), { resource_id: 9 });
  await record("running", at("02-10T00:00:00"));
  await record("ended", at("03-01T00:00:00"));
  await other.record("running", at("02-15T00:00:00"));

  const usage = await usageOf(world.db, [accountId, other.accountId], {
    from: at("02-01T00:00:00"),
    until: at("03-01T00:00:00"),
  });

  const inShort = (id: number) => usage.get(id)?.map((fact) => `${fact.resource_id} ${fact.sequence} ${fact.state}`);
  expect(inShort(accountId)).toEqual(["7 2 suspended", "7 3 running", "9 1 running"]);
  expect(inShort(other.accountId)).toEqual(["7 1 running"]);
});
