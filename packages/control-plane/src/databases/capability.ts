import type { Selectable } from "kysely";
import type { Tables } from "#platform/db/tables.ts";

export const MANAGED_DATABASES = "Managed Databases";

/** An operator may open databases to those who have one, or whom they were given to. */
export const mayHaveDatabases = (
  { databases, capabilities }: Pick<Selectable<Tables["accounts"]>, "databases" | "capabilities">,
  existingCustomersOnly: boolean,
): boolean => !existingCustomersOnly || databases > 0 || capabilities.includes(MANAGED_DATABASES);
