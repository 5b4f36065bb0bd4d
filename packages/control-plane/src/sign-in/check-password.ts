import { recordLogin } from "#identity/index.ts";
import { isText } from "#platform/http/validate.ts";
import type { SignInDeps } from "./deps.ts";
import { findByName, personOf, replaceHash, type UserRow } from "./user-store.ts";

export type CheckDeps = Pick<SignInDeps, "db" | "clock" | "throttle" | "passwords">;

/** `wait`: rate-limited; the password was not checked. */
export type Wait = { outcome: "wait"; seconds: number };
export type Checked = Wait | { outcome: "wrong" } | { outcome: "right"; user: UserRow };

/**
 * Checks the password of the user with this name. An unknown name, a user without a password and a wrong password take
 * the same steps: a lookup, a comparison, a row. A right password without a second factor completes the sign-in.
 */
export async function checkPassword(
  deps: CheckDeps,
  { name, password, ip }: { name: string; password: string; ip: string },
): Promise<Checked> {
  const { db, clock, throttle, passwords } = deps;
  const attempt = { at: "password", who: name, ip } as const;
  const seconds = await throttle.take(attempt);
  const user = await findByName(db, isText(name) ? name : "");
  const person = user && personOf(user);
  if (seconds > 0) {
    await recordRefusal(deps, person, ip);
    return { outcome: "wait", seconds };
  }
  const kept = user?.password_hash ?? null;
  const isRight = await passwords.matches(kept, password);
  if (user === undefined || kept === null || !isRight) {
    await recordLogin(db, { at: clock(), person, address: ip, status: "failed" });
    return { outcome: "wrong" };
  }
  await throttle.refund(attempt);
  if (passwords.isOutdated(kept)) await replaceHash(db, personOf(user), kept, await passwords.hash(password));
  if (user.tfa_enabled_at === null) await recordLogin(db, { at: clock(), person, address: ip, status: "successful" });
  return { outcome: "right", user };
}

/** A flood must not fill the table: per network, only this many rate-limited attempts a minute are recorded. */
export async function recordRefusal(
  { db, clock, throttle }: Pick<CheckDeps, "db" | "clock" | "throttle">,
  person: { accountId: number; userId: number } | undefined,
  ip: string,
): Promise<void> {
  if ((await throttle.take({ at: "refusedRecord", ip })) > 0) return;
  await recordLogin(db, { at: clock(), person, address: ip, status: "failed" });
}
