import { DeletionAllowance } from "@moorage/contract/agent";
import { z } from "zod";
import { Deletion } from "./deletion-guard.ts";
import { readIfThere, writeDurably } from "./durable-file.ts";

const HostRecord = z.object({
  host: z.int().optional(),
  epoch: z.int().default(0),
  revision: z.int().default(0),
  allowance: DeletionAllowance.optional(),
  deletions: z.array(Deletion).default([]),
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
