import type { DatabaseStatus } from "@moorage/contract";
import type { Selectable } from "kysely";
import type { Db } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export const MANAGED_DATABASES = "Managed Databases";

/**
 * The statuses of a database in use: provisioned, and neither failed nor suspended. Work on it does not lock its tenant
 * out.
 */
const inService: readonly DatabaseStatus[] = ["active", "updating", "backing_up", "restoring", "resuming", "degraded"];

/** An operator may restrict databases to accounts that have an active one or the capability. */
export async function mayHaveDatabases(
  db: Db,
  { id, capabilities }: Pick<Selectable<Tables["accounts"]>, "id" | "capabilities">,
  existingCustomersOnly: boolean,
): Promise<boolean> {
  if (!existingCustomersOnly || capabilities.includes(MANAGED_DATABASES)) return true;
  const active = await db
    .selectFrom("databases")
    .select("id")
    .where("account_id", "=", id)
    .where("deleted_at", "is", null)
    .where("status", "in", inService)
    .limit(1)
    .executeTakeFirst();
  return active !== undefined;
}
