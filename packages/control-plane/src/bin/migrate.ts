import { join } from "node:path";
import { readConfig } from "#platform/config.ts";
import { createDb, createPool } from "#platform/db/database.ts";
import { migrate } from "#platform/db/migrate.ts";
import { connectClient, ensureNamespace, temporalServerOf } from "#platform/temporal/connection.ts";
import { processSettings } from "../process-settings.ts";

const config = readConfig(processSettings.migrate);
const db = createDb(createPool(config.DATABASE_URL, 2));
const applied = await migrate(db, join(import.meta.dirname, "../../migrations"), config.MOORAGE_CELL);
await db.destroy();
const temporal = await connectClient(temporalServerOf(config));
await ensureNamespace(temporal, config.TEMPORAL_NAMESPACE);
await temporal.connection.close();
console.log(applied.length === 0 ? "The schema is current." : `Applied ${applied.join(", ")}.`);
