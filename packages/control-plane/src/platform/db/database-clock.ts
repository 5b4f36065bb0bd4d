import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { createAdjustedClock, type TimeAnswer, type TimeSources } from "#platform/adjusted-clock.ts";
import type { Log } from "#platform/log.ts";
import type { Db } from "./database.ts";

const EVERY_MS = 10_000;
/** Until the first answer. */
const RETRY_MS = 1_000;
/** A process does not wait longer for the first answer: it starts while PostgreSQL is down. */
const START_MS = 2_000;
const WRONG_MS = 2_000;

const ofThisMachine: TimeSources = { wall: Date.now, monotonic: () => performance.now() };

/**
 * PostgreSQL's clock, for every process that compares its time with the times that other processes wrote: leases,
 * deadlines, lifetimes. It is asked every ten seconds once it was started. While PostgreSQL does not answer, the clock
 * continues from the last answer.
 */
export function createDatabaseClock(db: Db, log: Log, sources = ofThisMachine) {
  const { clock, adjust, aheadMs } = createAdjustedClock(sources);
  const stop = new AbortController();
  let answers = true;
  let wrong = false;

  const warnIfWrong = (): void => {
    const ahead = aheadMs() ?? 0;
    const isWrong = Math.abs(ahead) > WRONG_MS;
    const times = { own: new Date(sources.wall()), postgresql: clock(), aheadMs: Math.round(ahead) };
    if (isWrong && !wrong)
      log.warn(times, "this machine's clock is wrong: PostgreSQL's is used, which differs by over 2 s");
    if (!isWrong && wrong) log.info(times, "this machine's clock agrees with PostgreSQL's again");
    wrong = isWrong;
  };
  const ask = async (): Promise<void> => {
    try {
      adjust(await askTime(db, sources.monotonic));
      answers = true;
      warnIfWrong();
    } catch (error) {
      if (answers && !stop.signal.aborted)
        log.warn({ err: error }, "PostgreSQL does not report its time; the clock continues from the last report");
      answers = false;
    }
  };
  const keepAsking = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const ms = aheadMs() === undefined ? RETRY_MS : EVERY_MS;
      await sleep(ms, undefined, { signal: stop.signal, ref: false }).catch(() => {});
      if (!stop.signal.aborted) await ask();
    }
  };

  return {
    clock,
    aheadMs,
    /** Returns with the first answer, or without one if PostgreSQL does not give it at once. */
    async start(): Promise<void> {
      const asked = ask();
      void asked.then(keepAsking);
      await Promise.race([asked, sleep(START_MS, undefined, { ref: false })]);
    },
    close: (): void => stop.abort(),
  };
}
export type DatabaseClock = ReturnType<typeof createDatabaseClock>;

/** On one connection: the time that it takes to get one is not part of the round trip. */
const askTime = (db: Db, monotonic: () => number): Promise<TimeAnswer> =>
  db.connection().execute(async (connection) => {
    const asked = monotonic();
    const { rows } = await sql<{ time: number }>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 as time`.execute(connection);
    const answered = monotonic();
    if (rows[0] === undefined) throw new Error("PostgreSQL returned no time.");
    return { time: rows[0].time, asked, answered };
  });
