import { randomUUID } from "node:crypto";
import type { OperationRow } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { EngineVersion } from "#regions/index.ts";
import { type DatabaseRow, saveDatabase } from "../model/database-store.ts";
import {
  type ArchiveContext,
  type ArchiveSettings,
  type Beginning,
  findArchiveContext,
  findTimeline,
  forkOf,
  insertTimeline,
} from "../model/timeline-store.ts";
import { createArchiveKey } from "./keys.ts";

type NewTimeline = { operation: OperationRow; database: DatabaseRow; engine: EngineVersion };

/**
 * What a database needs before its nodes have specs: an archive key, a timeline and the node image. Repeatable:
 * existing ones stay.
 */
export async function createTimeline(
  tx: Tx,
  { sealer, archive, at }: { sealer: Sealer; archive: ArchiveSettings; at: Date },
  { operation, database, engine }: NewTimeline,
): Promise<{ database: DatabaseRow; archiveContext: ArchiveContext | undefined }> {
  await createArchiveKey(tx, sealer, database);
  const timeline = database.timeline_id ?? randomUUID();
  if (database.timeline_id === null)
    await insertTimeline(tx, database, { id: timeline, from: await beginningOf(tx, operation, engine), at });
  const given = await saveDatabase(tx, database.account_id, database.id, {
    timeline_id: timeline,
    image: database.image ?? engine.image,
  });
  return { database: given, archiveContext: await findArchiveContext(tx, given, archive) };
}

async function beginningOf(tx: Tx, operation: OperationRow, engine: EngineVersion): Promise<Beginning> {
  const fork = forkOf(operation);
  if (fork === undefined) return { prepared: engine.prepared };
  const parent = await findTimeline(tx, fork.timeline);
  // Without a time: everything, which the source was requested to archive.
  return { parent: parent.id, until: fork.until === undefined ? parent.archived_through : new Date(fork.until) };
}
