/**
 * Stores histories of ended workflows of a running installation (`. .stack/env` first), for the replay test: the
 * longest of each kind and outcome, so that they include retries and waits. Run it when a workflow is released; a
 * recorded history is never edited.
 */
import { readConfig } from "#platform/config.ts";
import { createDb, createPool } from "#platform/db/database.ts";
import { databaseSettings, temporalSettings } from "#platform/settings.ts";
import { connectClient, temporalServerOf } from "#platform/temporal/connection.ts";
import { keepHistories } from "./keep-histories.ts";

const config = readConfig({ ...databaseSettings, ...temporalSettings });
const db = createDb(createPool(config.DATABASE_URL, 1));
const temporal = await connectClient(temporalServerOf(config));
await keepHistories(db, temporal, "all");
await temporal.connection.close();
await db.destroy();
