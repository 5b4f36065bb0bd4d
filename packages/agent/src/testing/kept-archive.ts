import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ArchivedCopy,
  type ArchivedLog,
  type ArchivedRequest,
  countMissing,
  formatGtidSet,
  type GtidSet,
  type NodeSpec,
  parseGtidSet,
  uniteGtidSets,
} from "@moorage/contract/agent";
import { startObjectStore } from "@moorage/testkit/object-store.ts";
import { sh } from "./test-host.ts";
import type { ThreeHosts } from "./three-hosts.ts";

/** The archive of three hosts for the timeline of their group: a real store, and what the control plane records. */
export async function keepArchive(three: ThreeHosts) {
  const [{ dir, outside }] = three.hosts as [ThreeHosts["hosts"][number]];
  const store = await startObjectStore(outside);
  const file = join(dir, "identity");
  sh(`age-keygen -o ${file} 2>/dev/null`);
  const identity = readFileSync(file, "utf8").match(/AGE-SECRET-KEY-\S+/)?.[0] ?? "";
  const recipient = sh(`age-keygen -y ${file}`).trim();
  const timeline = three.spec(0).cluster?.group ?? "";

  let archived: GtidSet = new Map();
  /** In the order in which they continue each other. */
  const logs: (ArchivedLog & { node: string })[] = [];
  const copies: ArchivedCopy[] = [];
  const refused: string[] = [];

  function record(nodes: ArchivedRequest["nodes"]) {
    return nodes.map(({ node, timeline: of, logs: reported = [], copies: made = [] }) => {
      if (of !== timeline) return { node, timeline: of, gtid: "" };
      copies.push(...made);
      for (const log of reported) {
        if (countMissing(parseGtidSet(log.previous ?? ""), archived) > 0) {
          refused.push(log.name);
          throw new Error("something is missing");
        }
        const after = uniteGtidSets(archived, parseGtidSet(log.gtid));
        const isNews = countMissing(after, archived) > 0 && !logs.some(({ name }) => name === log.name);
        if (isNews) logs.push({ ...log, node });
        archived = after;
      }
      const newest = copies
        .map(({ ended_at }) => ended_at)
        .toSorted()
        .at(-1);
      return {
        node,
        timeline: of,
        gtid: formatGtidSet(archived),
        ...(newest !== undefined && { newest_copy: newest }),
      };
    });
  }
  for (const { gateway } of three.hosts) Object.assign(gateway.archive, { store, endOf: record });

  return {
    store,
    identity,
    timeline,
    logs,
    copies,
    refused,
    archived: (): GtidSet => archived,
    archiveOf: (isArchiver: boolean): NodeSpec["archive"] => ({
      recipient,
      log_seconds: 1,
      copy_hours: { from: 0, to: 24 },
      verify_days: 1000,
      ...(isArchiver ? {} : { archiver: false as const }),
    }),
    urlOf: (name: string): Promise<string> => store.presignGet(`${timeline}/${name}`),
    /** The text of a log or of lost transactions, decrypted as a restore does it. */
    textOf: async (name: string): Promise<string> =>
      sh(`curl -sf '${await store.presignGet(`${timeline}/${name}`)}' | age -d -i ${file} | zstd -dc`),
    close: () => store.close(),
  };
}
export type KeptArchive = Awaited<ReturnType<typeof keepArchive>>;
