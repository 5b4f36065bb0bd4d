import { toTimestamp } from "@moorage/contract";
import { expect, test } from "vitest";
import { archiveWorld } from "#testing/archived-database.ts";
import { allowGaps } from "../model/timeline-store.ts";
import { texts as timelineTexts } from "../timelines/texts.ts";
import { continueWith } from "./archive-end.ts";
import { loadHistory } from "./history-store.ts";
import { planRestore } from "./recipe.ts";
import { texts } from "./texts.ts";

const HOST_BITS = "0123456789abcdef";

/** A database with a copy and one log, archived for two minutes. Minutes count from its creation. */
async function archived() {
  const fixture = await archiveWorld();
  const { world } = fixture;
  const database = await fixture.database();
  const { id: operation } = await world.lastOperation();
  const { timeline, customer, minute: minuteFromNow, uploadCopy, uploadLog, reportArchived } = database;
  const start = world.time.now.getTime();
  await world.db.updateTable("databases").set({ status: "active" }).where("id", "=", database.id).execute();
  await world.db.updateTable("operations").set({ settled_at: world.time.now }).where("id", "=", operation).execute();
  const minute = (n: number): Date => new Date(start + n * 60_000);
  const ago = (n: number): number => n - (world.time.now.getTime() - start) / 60_000;
  const ofCluster = (last: number): string => `${timeline}:1-${last}`;
  const at = (n: number): void => {
    world.time.now = minute(n);
  };
  const report = async (archive: object) => expect(await reportArchived(archive)).toMatchObject({ status: 200 });
  const log = async (sequence: number, closed: number, last = closed) => ({
    ...(await uploadLog(sequence, ago(closed))),
    gtid: ofCluster(last),
  });
  const copy = async (from: number, to: number) => ({
    ...(await uploadCopy(ago(from), ago(to))),
    gtid: ofCluster(from),
  });
  at(3);
  await report({ copies: [await copy(0.5, 1)], logs: [await log(1, 2)], through: minuteFromNow(-1) });
  return {
    ...fixture,
    ...database,
    minute,
    at,
    report,
    log,
    copy,
    ofCluster,
    through: (n: number) => report({ through: minute(n).toISOString() }),
    archivedThrough: async () =>
      (await world.db.selectFrom("timelines").selectAll().executeTakeFirstOrThrow()).archived_through,
    orderedCopies: async () => {
      await world.run("neededCopies");
      return ((await world.nodes())[0]?.desired_spec?.tasks ?? []).filter(({ kind }) => kind === "copy").length;
    },
    recover: () =>
      world.db
        .transaction()
        .execute((tx) => allowGaps(tx, { account_id: customer.accountId, id: database.id }, world.time.now)),
    acceptLoss: (last: number) =>
      world.db
        .transaction()
        .execute((tx) => continueWith(tx, timeline, ofCluster(last), { acceptsLoss: true, at: world.time.now })),
    /** The base and logs of a restore to this time, or the refusal. */
    async planAt(n: number): Promise<string> {
      try {
        const { base, logs } = planRestore(await loadHistory(world.db, timeline), { timeline, until: minute(n) });
        const from = base.kind === "copy" ? `copy of ${(base.copy.ended_at.getTime() - start) / 60_000}` : base.kind;
        return [from, ...logs.map((each) => each.log.sequence)].join(", ");
      } catch (error) {
        return (error as Error).message;
      }
    },
    refusal: (...ranges: [from: number, to: number][]): string =>
      texts.restorableTimes({
        ranges: ranges.map(([from, to]) => ({
          oldest: toTimestamp(from === 0 ? new Date(Math.ceil(start / 1000) * 1000) : minute(from)),
          newest: toTimestamp(minute(to)),
        })),
      }).text,
  };
}

test("after a recovery an idle database is restorable from a new base copy on, which is ordered once", async () => {
  await using database = await archived();
  await database.recover();
  expect([await database.orderedCopies(), await database.orderedCopies()]).toEqual([1, 1]);
  database.at(4);
  await database.through(4);
  expect(await database.archivedThrough()).toEqual(database.minute(2));

  database.at(10);
  await database.report({ copies: [await database.copy(5, 6)] });
  await database.through(9);

  expect(await database.archivedThrough()).toEqual(database.minute(9));
  expect(await database.planAt(8)).toBe("copy of 6");
  expect(await database.planAt(2)).toBe("copy of 1, 1");
  const { copy_order_at } = await database.world.db.selectFrom("timelines").selectAll().executeTakeFirstOrThrow();
  expect(copy_order_at).toBeNull();
});

test("a time that may lack forgotten logs is refused, with the times before and after them", async () => {
  await using database = await archived();
  await database.recover();
  database.at(10);
  await database.report({ copies: [await database.copy(5, 6)] });
  await database.through(9);

  expect(await database.planAt(4)).toBe(database.refusal([0, 2], [6, 9]));
});

test("after forgotten logs the next log continues the copy, and no time between is restored", async () => {
  await using database = await archived();
  await database.recover();
  database.at(10);
  await database.report({ copies: [await database.copy(5, 6)] });
  await database.report({ logs: [await database.log(4, 8)] });
  await database.through(9);

  expect(await database.planAt(7)).toBe("copy of 6, 4");
  expect(await database.planAt(9)).toBe("copy of 6, 4");
  expect(await database.planAt(4)).toBe(database.refusal([0, 2], [6, 9]));
});

test("if no log was forgotten, the next log makes every time restorable", async () => {
  await using database = await archived();
  await database.recover();
  database.at(10);
  await database.report({ copies: [await database.copy(5, 6)] });
  await database.report({ logs: [await database.log(2, 8)] });

  expect(await database.planAt(4)).toBe("copy of 1, 1, 2");
  expect(await database.planAt(7)).toBe("copy of 6, 2");
});

test("a copy that was started before the recovery does not end the gap", async () => {
  await using database = await archived();
  await database.recover();
  database.at(10);
  await database.report({ copies: [await database.copy(2.5, 6)] });
  await database.through(9);

  expect(await database.archivedThrough()).toEqual(database.minute(2));
  expect(await database.orderedCopies()).toBe(1);
});

test.each([
  ["continues", 5, "copy of 6, 3"],
  ["does not continue", 6, "refused"],
] as const)("a member's log %s a copy with 5 transactions if its server had %i before it", async (_, had, plan) => {
  await using database = await archived();
  await database.recover();
  database.at(10);
  await database.report({ copies: [await database.copy(5, 6)] });
  const log = {
    ...(await database.log(4, 8)),
    name: `binlog.000004.${HOST_BITS}`,
    previous: database.ofCluster(had),
  };
  await database.report({ logs: [log] });

  expect(await database.planAt(7)).toBe(plan === "refused" ? database.refusal([0, 2]) : plan);
});

test("after an accepted loss a copy is ordered at once, and later times are restored from it", async () => {
  await using database = await archived();
  expect(await database.acceptLoss(1)).toMatchObject({ leftOut: 1 });
  expect(await database.orderedCopies()).toBe(1);
  database.at(10);
  const log = { ...(await database.log(4, 5)), name: `binlog.000001.${HOST_BITS}`, previous: database.ofCluster(1) };
  await database.report({ logs: [{ ...log, gtid: database.ofCluster(4) }] });
  expect(await database.planAt(4)).toBe(database.refusal([0, 2]));

  await database.report({ copies: [await database.copy(6, 7)] });
  await database.through(9);

  expect(await database.planAt(8)).toBe("copy of 7");
  expect(await database.planAt(4)).toBe(database.refusal([0, 2], [7, 9]));
  database.at(30);
  expect(await database.orderedCopies()).toBe(1);
});

test("a fork to a time in a gap is refused, and names the times that are valid", async () => {
  await using database = await archived();
  await database.recover();
  database.at(10);
  await database.report({ copies: [await database.copy(5, 6)] });
  await database.through(9);
  const fork = (n: number) =>
    database.customer.create({ fork: { source: database.id, restore_time: toTimestamp(database.minute(n)) } });

  expect(await fork(4)).toMatchObject({
    status: 400,
    body: {
      errors: [
        {
          field: "fork.restore_time",
          reason: timelineTexts.forkArchiveGap({ why: database.refusal([0, 2], [6, 9]) }).text,
        },
      ],
    },
  });
  expect(await fork(8)).toMatchObject({ status: 200 });
});
