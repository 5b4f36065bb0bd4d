import type { KeyObject } from "node:crypto";
import { DeletionAllowance, Statement } from "@moorage/contract/agent";
import { z } from "zod";
import {
  Deletion,
  type DeletionLimits,
  type DeletionOf,
  guardDeletion,
  heldText,
  rememberDeletions,
  type Verdict,
} from "./deletion-guard.ts";
import { TrashAge } from "./trash-age.ts";
import { readIfThere, writeDurably } from "../base/durable-file.ts";

const HostRecord = z.object({
  host: z.int().optional(),
  epoch: z.int().default(0),
  revision: z.int().default(0),
  /** Recorded before the first spec of its reply is written. */
  told: Statement.optional(),
  start: z.int().default(0),
  allowance: DeletionAllowance.optional(),
  deletions: z.array(Deletion).default([]),
  trash: TrashAge.optional(),
});
export type HostRecord = z.output<typeof HostRecord>;

/** `host.json`: what the agent itself has to remember. Changes are written one after the other. */
export async function openHostRecord(path: string) {
  let record = HostRecord.parse(JSON.parse((await readIfThere(path)) ?? "{}"));
  let last: Promise<unknown> = Promise.resolve();
  return {
    get: (): HostRecord => record,
    update(change: (before: HostRecord) => HostRecord): Promise<void> {
      const write = async () => {
        const after = change(record);
        if (after === record) return;
        await writeDurably(path, JSON.stringify(after));
        record = after;
      };
      const written = last.then(write);
      last = written.catch(() => {});
      return written;
    },
  };
}
export type HostRecordFile = Awaited<ReturnType<typeof openHostRecord>>;

/**
 * The number of this start, on the disk before anything is reported with it. Not below the seconds since 1970, so that
 * it rises even if the record was lost: reports with a lower number would be ignored.
 */
export async function countStart(record: HostRecordFile, clock: () => Date): Promise<number> {
  const seconds = Math.floor(clock().getTime() / 1000);
  await record.update((before) => ({ ...before, start: Math.max(before.start + 1, seconds) }));
  return record.get().start;
}

/** Whether a deletion may be carried out now; `message` is for the node's report. */
export type Admission = { kind: "admitted" } | { kind: "held"; retryAt: Date; message: string };
export type AdmitDeletion = (of: DeletionOf) => Promise<Admission>;

/** Counted on the disk before the first step, one at a time: four deletions cannot share the last free place. */
export const admitDeletions =
  (deps: {
    record: HostRecordFile;
    clock: () => Date;
    operatorKey: KeyObject;
    limits: DeletionLimits;
  }): AdmitDeletion =>
  async (of) => {
    const { record, clock, operatorKey, limits } = deps;
    let verdict: Verdict = { kind: "started" };
    await record.update((before) => {
      const { deletions, host, allowance } = before;
      const now = clock();
      verdict = guardDeletion({ of, now, deletions, limits, host, allowance, operatorKey });
      if (verdict.kind !== "admit") return before;
      return { ...before, deletions: [...rememberDeletions(deletions, now, limits), verdict.deletion] };
    });
    return admissionOf(of, verdict, limits);
  };

const admissionOf = (of: DeletionOf, verdict: Verdict, limits: DeletionLimits): Admission =>
  verdict.kind === "held"
    ? { kind: "held", retryAt: verdict.retryAt, message: heldText(of, verdict, limits) }
    : { kind: "admitted" };
