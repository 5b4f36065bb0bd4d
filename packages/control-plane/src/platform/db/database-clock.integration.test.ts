import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { declareDead } from "#fleet/index.ts";
import { createLog } from "#platform/log.ts";
import { addClockGauge } from "#platform/telemetry/clock-gauge.ts";
import { newWorld, type World } from "#testing/world.ts";
import { createDatabaseClock } from "./database-clock.ts";
import { createDb, createPool } from "./database.ts";

type Line = { msg: string; own?: string; postgresql?: string; aheadMs?: number };

/** The clock of a process on a machine whose own clock is ahead by this, and what it logs. */
function processClock(db: World["db"], ahead: { ms: number }) {
  const log = createLog("test", "info");
  const lines: Line[] = [];
  Object.assign(log, {
    warn: (fields: object, msg: string) => lines.push({ ...fields, msg }),
    info: (fields: object, msg: string) => lines.push({ ...fields, msg }),
  });
  const sources = { wall: () => Date.now() + ahead.ms, monotonic: () => performance.now() };
  const made = createDatabaseClock(db, log, sources);
  /** With PostgreSQL's first answer, which a busy machine may delay for longer than a process waits for it. */
  const started = async (): Promise<void> => {
    await made.start();
    await expect.poll(() => made.aheadMs()).toBeDefined();
  };
  return { ...made, started, lines };
}

test("the clocks of processes whose machines differ by 31 s agree within 100 ms", async () => {
  await using world = await newWorld();
  const right = processClock(world.db, { ms: 0 });
  const wrong = processClock(world.db, { ms: 31_000 });
  expect(wrong.clock().getTime() - right.clock().getTime()).toBeGreaterThan(30_000);

  // On a busy machine a round trip, and so the error, may take longer: then the next answer counts.
  const differenceMs = async (): Promise<number> => {
    await Promise.all([right.started(), wrong.started()]);
    return Math.abs(wrong.clock().getTime() - right.clock().getTime());
  };
  await expect.poll(differenceMs).toBeLessThan(100);
  right.close();
  wrong.close();
});

test("a live host is not declared dead by a process whose machine is 31 s ahead", async () => {
  await using world = await newWorld();
  const host = await world.host();
  const gateway = processClock(world.db, { ms: 0 });
  const api = processClock(world.db, { ms: 31_000 });
  const declare = () => world.db.transaction().execute((tx) => declareDead(tx, host.name, api.clock()));
  await Promise.all([gateway.started(), api.started()]);

  await world.db.updateTable("host_leases").set({ seen_at: gateway.clock() }).execute();

  await expect(declare()).rejects.toMatchObject({ kind: "wrong-state" });
  gateway.close();
  api.close();
});

test("a difference of more than 2 s is logged once with both times, and shown as a metric", async () => {
  await using world = await newWorld();
  const ahead = { ms: 31_000 };
  const { lines, started, close, clock, aheadMs } = processClock(world.db, ahead);
  const registry = new Registry();
  addClockGauge(registry, { aheadMs });
  const shown = async () => (await registry.metrics()).split("\n").find((line) => line.startsWith("moorage"));
  expect(await shown()).toBeUndefined();

  await started();
  await started();
  expect(lines).toMatchObject([{ msg: expect.stringContaining("clock is wrong") }]);
  const [{ own, postgresql, aheadMs: logged } = { own: "", postgresql: "", aheadMs: 0 }] = lines;
  expect(new Date(own ?? "").getTime() - new Date(postgresql ?? "").getTime()).toBeGreaterThan(2_000);
  expect(logged).toBeGreaterThan(2_000);
  expect(Number((await shown())?.split(" ")[1])).toBeGreaterThan(2);

  // Somebody sets the machine's clock back by an hour: the time that the process uses continues.
  const before = clock().getTime();
  ahead.ms -= 3_600_000;
  expect(clock().getTime()).toBeGreaterThanOrEqual(before);
  expect(Number((await shown())?.split(" ")[1])).toBeLessThan(-2);
  close();
});

test("without PostgreSQL a process starts with the machine's clock, and later continues from the last answer", async () => {
  await using world = await newWorld();
  const nowhere = createDb(createPool("postgres://postgres@127.0.0.1:1/none", 1));
  const early = processClock(nowhere, { ms: 31_000 });
  await early.start();
  expect(early.aheadMs()).toBeUndefined();
  expect(early.clock().getTime()).toBeGreaterThan(Date.now() + 30_000);
  // A busy machine may notice the refusal after the start.
  await expect.poll(() => early.lines).toMatchObject([{ msg: expect.stringContaining("does not report its time") }]);
  early.close();
  await nowhere.destroy();

  const later = createDb(createPool(world.databaseUrl, 1));
  const { start, started, clock, close, lines } = processClock(later, { ms: 31_000 });
  await started();
  await later.destroy();
  await start();
  expect(clock().getTime()).toBeLessThan(Date.now() + 30_000);
  expect(lines.map(({ msg }) => msg).at(-1)).toContain("does not report its time");
  close();
});
