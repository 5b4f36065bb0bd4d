import type { NewUser, User } from "@moorage/contract";
import { insertUser, type Principal, requireFewerThan } from "#identity/index.ts";
import type { Mails } from "#mail/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { ErrorDetail } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { countUsers, findCompany, findUserToView, isNameInUse, type UserRow } from "./user-store.ts";
import { nameTaken, recordUserChange, viewOfUser } from "./user.ts";

export type UserDeps = { db: Db; clock: Clock; mails: Mails };

const MOST_USERS = 500;

/** Creates a user without a password: the invitation leads to the page where one is chosen. */
export const createUser = (
  { db, clock, mails }: UserDeps,
  by: Principal,
  { username, email, restricted }: NewUser,
  idempotency: Idempotency,
): Promise<User> =>
  db.transaction().execute(async (tx) => {
    const now = clock();
    await idempotency.claim(tx);
    requireFewerThan(MOST_USERS, await countUsers(tx, by.accountId), "users per account");
    const user = await insertUser(tx, { account_id: by.accountId, username, email, restricted, created_at: now });
    if (user === undefined) throw nameTaken();
    await invite(tx, mails, user);
    const view = viewOfUser(await findUserToView(tx, by.accountId, user.username));
    await idempotency.keep(tx, view);
    await recordUserChange(tx, by, {
      audited: "create_user",
      event: "user_create",
      user,
      at: now,
      detail: { username, restricted },
    });
    return view;
  });

/** Checks the name when other fields of the request are malformed. */
export const faultsOfPart = async (db: Db, { username }: Partial<NewUser>): Promise<readonly ErrorDetail[]> =>
  username !== undefined && (await isNameInUse(db, username)) ? nameTaken().errors : [];

export const invite = async (tx: Tx, mails: Mails, user: UserRow): Promise<void> =>
  mails.invite(tx, {
    person: { accountId: user.account_id, userId: user.id },
    email: user.email,
    username: user.username,
    company: await findCompany(tx, user.account_id),
  });
