import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import type { Db } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import type { Sealer } from "#platform/seal.ts";
import { openKeyring } from "../archive/keys.ts";
import { findDatabase, findDatabaseRow } from "../model/database-store.ts";
import { requireActionAllowed } from "../model/database.ts";
import { ADMIN_USERNAME, passwordPlace, targetOf } from "../model/entity.ts";
import { openClusterSecret } from "../spec/cluster-store.ts";

export type CredentialsDeps = { db: Db; clock: Clock; sealer: Sealer };

export type SslDeps = {
  db: Db;
  /** The authorities that sign databases' certificates, in PEM: two during a rotation. */
  databaseCa: string;
};

/** Every reading of a password is audited. */
export const readCredentials = ({ db, clock, sealer }: CredentialsDeps, by: Principal, id: number) =>
  db.transaction().execute(async (tx) => {
    const database = await findDatabaseRow(tx, by.accountId, id);
    requireActionAllowed("read the credentials of", database.status);
    await audit(tx, {
      at: clock(),
      account: by.accountId,
      actor: by.username,
      action: "read_credentials",
      target: targetOf(id),
    });
    return {
      username: ADMIN_USERNAME,
      password: sealer.open(passwordPlace(by.accountId, id), database.admin_password),
    };
  });

/** For the database's own hosts, which request the password when they apply it and never store it. */
export const createSecretsOf =
  ({ db, sealer }: { db: Db; sealer: Sealer }) =>
  async ({ accountId, databaseId, node }: { accountId: number; databaseId: number; node: string }) => {
    const row = await db
      .selectFrom("databases")
      .select("admin_password")
      .where("account_id", "=", accountId)
      .where("id", "=", databaseId)
      .executeTakeFirstOrThrow(notFound);
    const keyring = await openKeyring(db, sealer, accountId, node);
    const group = await openClusterSecret(db, sealer, { account_id: accountId, id: databaseId }, "group_password");
    return {
      admin_password: sealer.open(passwordPlace(accountId, databaseId), row.admin_password),
      ...(group === undefined ? {} : { group_password: group }),
      ...(keyring === undefined ? {} : { keyring }),
    };
  };

/** For `fleet`, which signs the certificates of a cluster's members. */
export const createClusterSecretOf =
  ({ db, sealer }: { db: Db; sealer: Sealer }) =>
  ({ accountId, databaseId }: { accountId: number; databaseId: number }): Promise<string | undefined> =>
    openClusterSecret(db, sealer, { account_id: accountId, id: databaseId }, "authority");

/** The certificates that a client must trust to authenticate its database. */
export async function readSsl({ db, databaseCa }: SslDeps, by: Principal, id: number) {
  const database = await findDatabase(db, by.accountId, id);
  requireActionAllowed("read the SSL certificate of", database.status);
  return { ca_certificate: database.ssl_connection ? Buffer.from(databaseCa).toString("base64") : null };
}
