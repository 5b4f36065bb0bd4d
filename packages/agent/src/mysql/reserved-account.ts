import type { Connection, RowDataPacket } from "mysql2/promise";

const stored = `SELECT CONCAT(LOWER(routine_type), ' ', routine_schema, '.', routine_name) AS name
  FROM information_schema.routines WHERE definer = ? AND routine_schema <> 'sys'
  UNION ALL SELECT CONCAT('event ', event_schema, '.', event_name) FROM information_schema.events WHERE definer = ?
  UNION ALL SELECT CONCAT('trigger ', trigger_schema, '.', trigger_name) FROM information_schema.triggers WHERE definer = ?
  UNION ALL SELECT CONCAT('view ', table_schema, '.', table_name) FROM information_schema.views WHERE definer = ?
  LIMIT 1`;

/**
 * Creates one of our accounts on a server that may hold a tenant's objects. A tenant may name a definer that does not
 * exist; had it named this account, its code would run with the rights that the account gets next. Once the account has
 * SYSTEM_USER, tenants can no longer name it, so a search then finds every object that did.
 */
export async function claimAccount(connection: Connection, user: string, host: string): Promise<void> {
  await connection.query(
    "CREATE USER IF NOT EXISTS ?@? IDENTIFIED WITH caching_sha2_password BY RANDOM PASSWORD ACCOUNT LOCK",
    [user, host],
  );
  await connection.query("GRANT SYSTEM_USER ON *.* TO ?@?", [user, host]);
  const definer = `${user}@${host}`;
  const [[found]] = await connection.query<RowDataPacket[]>(stored, [definer, definer, definer, definer]);
  if (found === undefined) return;
  await connection.query("DROP USER ?@?", [user, host]);
  throw new ReservedDefiner(`The ${String(found["name"])} has the definer ${definer}, which is reserved. Drop it.`);
}

export class ReservedDefiner extends Error {
  override readonly name = "ReservedDefiner";
}
