import type { Recipe } from "@moorage/contract/agent";
import { z } from "zod";
import type { Tx } from "#platform/db/database.ts";
import type { Objects } from "#platform/objects.ts";
import { sha256 } from "#platform/sha256.ts";
import { findCopies, findLogs, findTimelinesOf } from "./history-store.ts";
import { logOf, manifestOf, objectKey, partsOf } from "./object-names.ts";

type StoredPart = NonNullable<Recipe["scrub"]>[number];
type Named = { key: string; sha256: string; bytes: number };
type CopyToScrub = { keyOf: (name: string) => string; id: string; parts: number; manifest_sha256: string };
export type Scrub = { copies: CopyToScrub[]; logs: Named[] };
type Plan = {
  base: { kind: string; copy?: { id: string } };
  logs: { log: { timeline_id: string; sequence: number } }[];
};

/** Addresses per answer. The newest objects come first: the older ones were read when they were new. */
const LIMIT = 2000;

/** The kept objects of a database outside of a restore plan: nothing else reads them before they are needed. */
export async function findScrub(
  tx: Tx,
  { account_id, database_id }: { account_id: number; database_id: number },
  plan: Plan,
): Promise<Scrub> {
  const timelines = new Map((await findTimelinesOf(tx, account_id, database_id)).map((each) => [each.id, each]));
  if (timelines.size === 0) return { copies: [], logs: [] };
  const keyOf = (timelineId: string) => (name: string) =>
    objectKey(timelines.get(timelineId) ?? { account_id, database_id, id: timelineId }, name);
  const inPlan = new Set(plan.logs.map(({ log }) => `${log.timeline_id}/${log.sequence}`));
  const copies = (await findCopies(tx, [...timelines.keys()])).filter(({ id }) => id !== plan.base.copy?.id);
  const logs = (await findLogs(tx, [...timelines.keys()])).filter(
    ({ timeline_id, sequence }) => !inPlan.has(`${timeline_id}/${sequence}`),
  );
  return {
    copies: copies
      .toSorted((a, b) => b.ended_at.getTime() - a.ended_at.getTime())
      .map(({ id, timeline_id, parts, manifest_sha256 }) => ({
        keyOf: keyOf(timeline_id),
        id,
        parts,
        manifest_sha256,
      })),
    logs: logs
      .toSorted((a, b) => b.closed_at.getTime() - a.closed_at.getTime())
      .map(({ timeline_id, name, sha256: sum, bytes }) => ({
        key: keyOf(timeline_id)(logOf(name)),
        sha256: sum,
        bytes,
      })),
  };
}

/** With addresses. Reads the manifest of each copy, because only it has the checksums of the parts. */
export async function scrubParts(objects: Objects, { copies, logs }: Scrub): Promise<StoredPart[]> {
  const found: Named[] = logs.slice(0, LIMIT / 2);
  for (const copy of copies) {
    if (found.length >= LIMIT) break;
    found.push(...(await partsOfCopy(objects, copy)));
  }
  return Promise.all(
    found
      .slice(0, LIMIT)
      .map(async ({ key, ...stored }): Promise<StoredPart> => ({ url: await objects.presignGet(key), ...stored })),
  );
}

const Manifest = z.object({ parts: z.array(z.object({ bytes: z.int(), sha256: z.string() })) });

/** A missing or damaged manifest is included all the same: the host notices and reports it. */
async function partsOfCopy(objects: Objects, { keyOf, id, parts, manifest_sha256 }: CopyToScrub): Promise<Named[]> {
  const key = keyOf(manifestOf(id));
  const text = await objects.get(key);
  const manifest = { key, sha256: manifest_sha256, bytes: text?.length ?? 0 };
  if (text === undefined || sha256(text).toString("hex") !== manifest_sha256) return [manifest];
  const listed = Manifest.parse(JSON.parse(text.toString("utf8"))).parts;
  return [
    manifest,
    ...partsOf(id, parts).flatMap((name, n) => (listed[n] ? [{ key: keyOf(name), ...listed[n] }] : [])),
  ];
}
