import { type ArchivedReply, type ArchivedRequest, PROTOCOL } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import { type ArchivedNode, readArchiveState, updateArchiveState } from "./archived-node.ts";

export const reportArchivedSteps = ["agent.archive.report", "agent.archive.reported"];

const keptReportedCopies = 16;

export type ReportArchivedDeps = {
  archived: (message: ArchivedRequest, signal: AbortSignal) => Promise<ArchivedReply>;
  clock: () => Date;
};

/** Everything committed before `at` is in the store. `requested`: a task waits for this report. */
export type Complete = { at: string | undefined; requested?: boolean };

/**
 * Reports what the gateway has not acknowledged yet. An idle node reports its completeness once a day, for the restore
 * point of midnight, and when requested; for others their logs imply it.
 */
export async function reportArchived(
  { archived, clock }: ReportArchivedDeps,
  node: ArchivedNode,
  complete: Complete,
  signal: AbortSignal,
): Promise<void> {
  const { unreported, through } = await readArchiveState(node, clock());
  const [copies, logs] = [ofTerm(node, unreported.copies), ofTerm(node, unreported.logs)];
  const reached = latest([logs.at(-1)?.closed_at, complete.requested ? complete.at : newDay(complete.at, through)]);
  if (copies.length + logs.length === 0 && reached === undefined) return;
  await step("agent.archive.report", () =>
    archived(
      {
        protocol: PROTOCOL,
        nodes: [
          {
            node: node.spec.node,
            timeline: node.data.timeline,
            ...termOf(node),
            ...(copies.length > 0 && { copies }),
            ...(logs.length > 0 && { logs }),
            ...(reached !== undefined && { through: reached }),
          },
        ],
      },
      signal,
    ),
  );
  // Keeps what was added during the request.
  await step("agent.archive.reported", () =>
    updateArchiveState(node, clock(), (before) => ({
      unreported: {
        copies: before.unreported.copies.filter(({ id }) => !unreported.copies.some((reported) => reported.id === id)),
        logs: before.unreported.logs.filter(({ name }) => !unreported.logs.some((reported) => reported.name === name)),
      },
      reported_copies: [...before.reported_copies, ...copies.map(({ id }) => id)].slice(-keptReportedCopies),
      ...(reached !== undefined && { through: latest([before.through, reached]) }),
    })),
  );
}

/** The term of the primary whose history the node archives; none outside asynchronous clusters. */
export function termOf({ spec }: ArchivedNode): { term?: number } {
  const term = spec.cluster?.primary?.term;
  return term === undefined ? {} : { term };
}

/** Unreported objects of an earlier term are dropped; the archive's end is checked again. */
const ofTerm = <T extends { term?: number | undefined }>(node: ArchivedNode, made: readonly T[]): Omit<T, "term">[] =>
  made.filter(({ term }) => term === termOf(node).term).map(({ term: _, ...rest }) => rest);

const dayOf = (time: string): string => time.slice(0, "2026-01-01".length);

const newDay = (complete: string | undefined, through: string | undefined): string | undefined =>
  complete !== undefined && (through === undefined || dayOf(complete) > dayOf(through)) ? complete : undefined;

/** All are spelled by `toISOString`, so they sort as text. */
const latest = (times: readonly (string | undefined)[]): string | undefined =>
  times
    .filter((time) => time !== undefined)
    .sort()
    .at(-1);
