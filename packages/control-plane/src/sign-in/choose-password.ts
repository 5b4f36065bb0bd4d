import type { Tx } from "#platform/db/database.ts";
import type { Text } from "@moorage/contract/texts";
import type { SignInDeps } from "./deps.ts";
import { dropLinks, findLink, takeLink } from "./password-links.ts";
import { faultOfPassword } from "./password-rules.ts";
import { recordSignInChange } from "./record-change.ts";
import { findUser, lockUser, type Person, personOf, saveSignIn, type UserRow } from "./user-store.ts";

export type ChooseDeps = Pick<SignInDeps, "db" | "clock" | "passwords" | "mails" | "endSessions">;
/** `nobody`: the link is no longer valid, or the user was deleted. */
export type Chosen = { outcome: "chosen" } | { outcome: "fault"; fault: Text } | { outcome: "nobody" };

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
  await dropLinks(tx, person);
  await deps.endSessions(tx, person, keptSession);
  await recordSignInChange(tx, deps, user, "password_chosen");
}
