import { type ArchivedReply, type ArchivedRequest, PROTOCOL } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import { type ArchivedNode, readArchiveState, updateArchiveState } from "./archived-node.ts";

export const tellSteps = ["agent.archive.tell", "agent.archive.told"];

const toldKept = 16;

export type TellDeps = {
  archived: (message: ArchivedRequest, signal: AbortSignal) => Promise<ArchivedReply>;
  clock: () => Date;
};

/** Everything that was committed before this time is in the store. `asked`: somebody waits to hear it. */
export type Complete = { at: string | undefined; asked?: boolean };

/**
 * Tells what the gateway has not acknowledged yet. An idle node says that it is complete once a day, for the point of
 * midnight, and when it is asked; others say it by their logs.
 */
export async function tellArchived(
  { archived, clock }: TellDeps,
  node: ArchivedNode,
  complete: Complete,
  signal: AbortSignal,
): Promise<void> {
  const { untold, through } = await readArchiveState(node, clock());
  const [copies, logs] = [ofTerm(node, untold.copies), ofTerm(node, untold.logs)];
  const reached = latest([logs.at(-1)?.closed_at, complete.asked ? complete.at : newDay(complete.at, through)]);
  if (copies.length + logs.length === 0 && reached === undefined) return;
  await step("agent.archive.tell", () =>
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
  // What came to it meanwhile stays.
  await step("agent.archive.told", () =>
    updateArchiveState(node, clock(), (before) => ({
      untold: {
        copies: before.untold.copies.filter(({ id }) => !untold.copies.some((told) => told.id === id)),
        logs: before.untold.logs.filter(({ name }) => !untold.logs.some((told) => told.name === name)),
      },
      told_copies: [...before.told_copies, ...copies.map(({ id }) => id)].slice(-toldKept),
      ...(reached !== undefined && { through: latest([before.through, reached]) }),
    })),
  );
}

/** The term of the leader whose cluster's past it tells, if it has one. */
export function termOf({ spec }: ArchivedNode): { term?: number } {
  const term = spec.cluster?.leader?.term;
  return term === undefined ? {} : { term };
}

/** Of an earlier term it forgets what it did not tell: it is looked at anew. */
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
