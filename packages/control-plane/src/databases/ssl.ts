import type { Principal } from "#identity/index.ts";
import type { Db } from "#platform/db/database.ts";
import { requireActionAllowed } from "./database.ts";
import { findDatabase } from "./database-store.ts";

export type SslDeps = {
  db: Db;
  /** The authorities that sign databases' certificates, in PEM: two during a rotation. */
  databaseCa: string;
};

/** The certificates that a client must trust to authenticate its database. */
export async function readSsl({ db, databaseCa }: SslDeps, by: Principal, id: number) {
  const database = await findDatabase(db, by.accountId, id);
  requireActionAllowed("read the SSL certificate of", database.status);
  return { ca_certificate: database.ssl_connection ? Buffer.from(databaseCa).toString("base64") : null };
}
