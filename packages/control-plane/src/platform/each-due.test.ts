import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createEachDue } from "./each-due.ts";
import { addStuckGauge } from "./telemetry/stuck-gauge.ts";

const rows = [{ id: 1 }, { id: 2 }, { id: 3 }];
const MINUTE_MS = 60_000;

function fixture() {
  const time = { now: new Date(0) };
  const lines: Record<string, unknown>[] = [];
  const warn = (line: Record<string, unknown>): unknown => lines.push(line);
  const { eachDue, stuck } = createEachDue({ clock: () => time.now, log: { warn } as never });
  const done: number[] = [];
  const broken = new Set([1]);
  const work = async ({ id }: { id: number }): Promise<void> => {
    if (broken.has(id)) throw new Error(`${id} is broken`);
    done.push(id);
  };
  const later = (ms: number): void => {
    time.now = new Date(time.now.getTime() + ms);
  };
  return { each: eachDue("patches", "database"), eachDue, stuck, done, broken, work, later, lines, time };
}

test("a row that fails does not keep the others, and is logged with job and row", async () => {
  const { each, work, done, lines } = fixture();
  await each.run(rows, work);

  expect(done).toEqual([2, 3]);
  expect(lines).toMatchObject([{ code: "job.row_failed", job: "patches", database: 1, failures: 1 }]);
});

test("it is tried again after 1, 2, 4 … minutes, and at least once an hour", async () => {
  const { each, time, later } = fixture();
  const tries: number[] = [];
  const poison = async (): Promise<never> => {
    tries.push(time.now.getTime() / MINUTE_MS);
    throw new Error("broken");
  };
  for (let minute = 0; minute <= 240; minute++) {
    await each.run([{ id: 1 }], poison);
    later(MINUTE_MS);
  }
  expect(tries).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183]);
});

test("a query asks for as many more rows as are skipped", async () => {
  const { each, work, later } = fixture();
  expect(each.skipped()).toBe(0);
  await each.run(rows, work);
  expect(each.skipped()).toBe(1);
  later(MINUTE_MS);
  expect(each.skipped()).toBe(0);
});

test("a row that keeps its next try itself is tried whenever its query finds it", async () => {
  const { each, work, broken, done } = fixture();
  const kept: Date[] = [];
  const putOff = async (_row: object, until: Date): Promise<void> => void kept.push(until);
  await each.run(rows, work, { putOff });
  expect([kept, each.skipped()]).toEqual([[new Date(MINUTE_MS)], 0]);

  broken.clear();
  await each.run([{ id: 1 }], work, { putOff });
  expect(done).toEqual([2, 3, 1]);
});

test("a row that cannot be put off does not keep the others either", async () => {
  const { each, work, done } = fixture();
  await each.run(rows, work, { putOff: () => Promise.reject(new Error("away")) });
  expect(done).toEqual([2, 3]);
});

test("the metric counts the stuck rows of all queries of a job until they are done or gone", async () => {
  const { each, eachDue, stuck, work, broken, later } = fixture();
  const registry = new Registry();
  addStuckGauge(registry, stuck);
  const metric = async () => (await registry.metrics()).match(/^moorage_job_stuck\{job="patches"\} (\d+)/m)?.[1];
  await each.run(rows, work);
  await eachDue("patches", "account").run(rows, work);
  expect(await metric()).toBe("2");

  broken.clear();
  later(MINUTE_MS);
  await each.run(rows, work);
  expect(await metric()).toBe("1");
});

test("a stuck row that somebody else did is not counted any more", async () => {
  const { each, stuck, work, later } = fixture();
  await each.run(rows, work);
  later(MINUTE_MS);
  await each.run([], work);
  expect(stuck().get("patches")).toBe(0);
});
