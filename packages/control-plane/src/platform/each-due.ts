import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

type Id = number | string;
type Row = { id: Id };

/** How long a row waits after its first failure in a row of failures; each further one doubles it, up to the limit. */
export type BackOff = { leastMs: number; mostMs: number };
const MINUTE_TO_HOUR: BackOff = { leastMs: 60_000, mostMs: 3_600_000 };

type Work<Given, Result> = (row: Given) => Promise<Result>;
/**
 * Keeps the next try where the row's due time is kept, and nothing if the row became due again since `now`. Without it
 * this process skips the row until then.
 */
type PutOff<Given> = (row: Given, until: Date, now: Date) => Promise<unknown>;

/** The rows of one query of a job, one after the other: a row that fails is put off, and never costs another its turn. */
export type DueRows = {
  /** How many rows this process skips. They stay due, so a query has to ask for this many more. */
  skipped(): number;
  run<Given extends Row>(
    rows: readonly Given[],
    work: Work<Given, unknown>,
    options?: { putOff?: PutOff<Given> },
  ): Promise<void>;
  /** For rows that are worked on at the same time: those of the query whose turn it is. */
  ready<Given extends Row>(rows: readonly Given[]): Given[];
  /** Undefined: it failed. */
  attempt<Given extends Row, Result>(
    row: Given,
    work: Work<Given, Result>,
    putOff?: PutOff<Given>,
  ): Promise<Result | undefined>;
};

/** `what`: what the rows are, for the log. */
export type EachDue = (job: string, what: string, backOff?: BackOff) => DueRows;

type Failed = { failures: number; until: number; skip: boolean };

/** The rows of all jobs of a process whose last try failed are kept in its memory: there are few, and each is retried. */
export function createEachDue({ clock, log }: { clock: Clock; log: Pick<Log, "warn"> }) {
  const queries: { job: string; failed: Map<Id, Failed> }[] = [];

  const eachDue: EachDue = (job, what, backOff = MINUTE_TO_HOUR) => {
    const failed = new Map<Id, Failed>();
    queries.push({ job, failed });

    const skips = ({ skip, until }: Failed): boolean => skip && until > clock().getTime();

    const ready: DueRows["ready"] = (rows) => {
      const found = new Set(rows.map(({ id }) => id));
      // Its time has come and it is not due any more: somebody else did it, or it is gone.
      for (const [id, { until }] of failed) if (until <= clock().getTime() && !found.has(id)) failed.delete(id);
      return rows.filter(({ id }) => {
        const before = failed.get(id);
        return before === undefined || !skips(before);
      });
    };

    const attempt: DueRows["attempt"] = async (row, work, putOff) => {
      try {
        const result = await work(row);
        failed.delete(row.id);
        return result;
      } catch (error) {
        const now = clock();
        const failures = (failed.get(row.id)?.failures ?? 0) + 1;
        const until = new Date(now.getTime() + Math.min(backOff.leastMs * 2 ** (failures - 1), backOff.mostMs));
        failed.set(row.id, { failures, until: until.getTime(), skip: putOff === undefined });
        const about = { code: "job.row_failed", job, [what]: row.id };
        log.warn({ ...about, failures, until, err: error }, "a row of a job failed; the others continue");
        await putOff?.(row, until, now).catch((fault: unknown) =>
          log.warn({ ...about, err: fault }, "the row could not be put off; the next round tries it again"),
        );
        return undefined;
      }
    };

    return {
      skipped: () => [...failed.values()].filter(skips).length,
      ready,
      attempt,
      async run(rows, work, { putOff } = {}) {
        for (const row of ready(rows)) await attempt(row, work, putOff);
      },
    };
  };

  return {
    eachDue,
    /** By job, how many rows failed in their last try. */
    stuck(): Map<string, number> {
      const counts = new Map<string, number>();
      for (const { job, failed } of queries) counts.set(job, (counts.get(job) ?? 0) + failed.size);
      return counts;
    },
  };
}
