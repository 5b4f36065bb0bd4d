import { randomBytes } from "node:crypto";
import type { Text } from "@moorage/contract/texts";
import { dropPasswordLinks, insertPasswordLink, saveSignIn, takePasswordLink } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { sha256 } from "#platform/sha256.ts";
import type { SignInDeps } from "./deps.ts";
import { faultOfPassword } from "./passwords.ts";
import { recordSignInChange } from "./record-change.ts";
import { findUser, lockUser, type Person, personOf, type UserRow } from "./user-store.ts";

type ChooseDeps = Pick<SignInDeps, "db" | "clock" | "passwords" | "mails" | "endSessions">;
/** `nobody`: the link is no longer valid, or the user was deleted. */
type Chosen = { outcome: "chosen" } | { outcome: "fault"; fault: Text } | { outcome: "nobody" };

/** With a link. The second factor stays: access to somebody's mail is not access to their authenticator. */
export async function chooseByLink(deps: ChooseDeps, secret: string, password: string): Promise<Chosen> {
  const { db, clock, passwords } = deps;
  const person = await findLink(db, clock, secret);
  const user = person && (await findUser(db, person));
  if (user === undefined) return { outcome: "nobody" };
  const fault = faultOfPassword(password, user);
  if (fault !== undefined) return { outcome: "fault", fault };
  const hash = await passwords.hash(password);
  return db.transaction().execute(async (tx): Promise<Chosen> => {
    const owner = await takeLink(tx, clock, secret);
    const locked = owner && (await lockUser(tx, owner));
    if (locked === undefined) return { outcome: "nobody" };
    await setPassword(tx, deps, locked, hash);
    return { outcome: "chosen" };
  });
}

/** By a signed-in person, who stays signed in here; every other browser is signed out. */
export async function chooseSignedIn(
  deps: ChooseDeps,
  session: { person: Person; uid: string },
  password: string,
): Promise<Chosen> {
  const { db, passwords } = deps;
  const user = await findUser(db, session.person);
  if (user === undefined) return { outcome: "nobody" };
  const fault = faultOfPassword(password, user);
  if (fault !== undefined) return { outcome: "fault", fault };
  const hash = await passwords.hash(password);
  return db.transaction().execute(async (tx): Promise<Chosen> => {
    const locked = await lockUser(tx, session.person);
    if (locked === undefined) return { outcome: "nobody" };
    await setPassword(tx, deps, locked, hash, session.uid);
    return { outcome: "chosen" };
  });
}

/** Also ends the sessions and links of the old password. */
async function setPassword(tx: Tx, deps: ChooseDeps, user: UserRow, hash: string, keptSession?: string): Promise<void> {
  const person = personOf(user);
  await saveSignIn(tx, person, { password_hash: hash, password_set_at: deps.clock() });
  await dropPasswordLinks(tx, person);
  await deps.endSessions(tx, person, keptSession);
  await recordSignInChange(tx, deps, user, "password_chosen");
}

/** Creates a link by which this person chooses a password: valid once, for this many hours. Only its hash is stored. */
export const createPasswordLinks =
  ({ clock, authUrl }: { clock: Clock; authUrl: string }) =>
  async (tx: Tx, person: Person, hours: number): Promise<string> => {
    const secret = randomBytes(32).toString("hex");
    const now = clock();
    await insertPasswordLink(tx, person, {
      sha256: sha256(secret),
      createdAt: now,
      expiresAt: new Date(now.getTime() + hours * 3_600_000),
    });
    return new URL(`/password/${secret}`, authUrl).href;
  };

/** Whose link it is, if it is still valid. Opening the link does not use it up: mail programs open links too. */
export async function findLink(db: Db, clock: Clock, secret: string): Promise<Person | undefined> {
  const row = await db
    .selectFrom("password_links")
    .select(["account_id as accountId", "user_id as userId"])
    .where("sha256", "=", sha256(secret))
    .where("expires_at", ">", clock())
    .executeTakeFirst();
  return row;
}

/** Uses the link up. Of two concurrent callers, one gets the person. */
async function takeLink(tx: Tx, clock: Clock, secret: string): Promise<Person | undefined> {
  const row = await takePasswordLink(tx, sha256(secret));
  return row === undefined || row.expiresAt <= clock() ? undefined : { accountId: row.accountId, userId: row.userId };
}
