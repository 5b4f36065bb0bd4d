/**
 * Stores histories of ended workflows of a running installation (`. .stack/env` first), for the replay test: the
 * longest of each kind and outcome, so that they include retries and waits. Run it when a workflow is released; a
 * recorded history is never edited.
 */
import { readConfig } from "#platform/config.ts";
import { createDb, createPool } from "#platform/db/database.ts";
import { connectClient } from "#platform/temporal/connect.ts";
import { keepHistories } from "./keep-histories.ts";

const config = readConfig();
const db = createDb(createPool(config.DATABASE_URL, 1));
const temporal = await connectClient(config.TEMPORAL_ADDRESS, config.TEMPORAL_NAMESPACE);
await keepHistories(db, temporal, "all");
await temporal.connection.close();
await db.destroy();
