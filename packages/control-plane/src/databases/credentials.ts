import type { Principal } from "#identity/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import type { Sealer } from "#platform/seal.ts";
import { openKeyring } from "./archive/store-keyring.ts";
import { openGroupPassword } from "./clusters/cluster-store.ts";
import { requireActionAllowed } from "./database.ts";
import { findDatabaseRow } from "./database-store.ts";
import { passwordPlace, targetOf } from "./entity.ts";

export const ADMIN_USERNAME = "dbadmin";

export type CredentialsDeps = { db: Db; clock: Clock; sealer: Sealer };

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
    const group = await openGroupPassword(db, sealer, { account_id: accountId, id: databaseId });
    return {
      admin_password: sealer.open(passwordPlace(accountId, databaseId), row.admin_password),
      ...(group === undefined ? {} : { group_password: group }),
      ...(keyring === undefined ? {} : { keyring }),
    };
  };
