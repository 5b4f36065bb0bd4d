import { recordLogin, replacePasswordHash, useTfaStep } from "#identity/index.ts";
import { isText } from "#platform/http/validate.ts";
import type { SignInDeps } from "./deps.ts";
import { isDeviceOf } from "./devices.ts";
import { takeAttempt } from "./throttle.ts";
import { digitsOf, hashOfScratchCode, openSeed, stepOf } from "./totp.ts";
import { findByName, findUser, type Person, personOf, type UserRow, useScratchCode } from "./user-store.ts";

type CheckDeps = Pick<SignInDeps, "db" | "clock" | "sealer" | "throttle" | "passwords">;

/** `wait`: rate-limited; the password was not checked. */
export type Wait = { outcome: "wait"; seconds: number };
export type Checked = Wait | { outcome: "wrong" } | { outcome: "right"; user: UserRow };

/**
 * Checks the password of the user with this name. An unknown name, a user without a password and a wrong password take
 * the same steps: a lookup, a comparison, a row. A right password without a second factor completes the sign-in.
 */
export async function checkPassword(
  deps: CheckDeps,
  { name, password, ip, device }: { name: string; password: string; ip: string; device: string | undefined },
): Promise<Checked> {
  const { db, clock, throttle, passwords } = deps;
  const user = await findByName(db, isText(name) ? name : "");
  const own = (await isDeviceOf(deps, device, user)) ? device : undefined;
  const { seconds, attempt } = await takeAttempt(throttle, { at: "password", who: name, ip }, own);
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
  if (passwords.isOutdated(kept)) await replacePasswordHash(db, personOf(user), kept, await passwords.hash(password));
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

type CodeDeps = Pick<SignInDeps, "db" | "clock" | "throttle" | "sealer">;

/** Whether this is a code of the person's authenticator, or a scratch code. Each works once. */
export async function checkCode(
  deps: CodeDeps,
  { person, code, ip, device }: { person: Person; code: string; ip: string; device: string | undefined },
): Promise<Wait | { outcome: "wrong" | "right" }> {
  const { db, clock, throttle } = deps;
  const user = await findUser(db, person);
  const own = (await isDeviceOf(deps, device, user)) ? device : undefined;
  const who = `${person.accountId}/${person.userId}`;
  const { seconds, attempt } = await takeAttempt(throttle, { at: "code", who, ip }, own);
  if (seconds > 0) {
    await recordRefusal(deps, person, ip);
    return { outcome: "wait", seconds };
  }
  const isRight = user !== undefined && (await useCode(deps, person, user, code));
  if (isRight) await throttle.refund(attempt);
  await recordLogin(db, { at: clock(), person, address: ip, status: isRight ? "successful" : "failed" });
  return { outcome: isRight ? "right" : "wrong" };
}

async function useCode(
  { db, clock, sealer }: CodeDeps,
  person: Person,
  { tfa_secret: sealed }: UserRow,
  code: string,
): Promise<boolean> {
  if (sealed === null) return false;
  const digits = digitsOf(code);
  if (digits === undefined) return useScratchCode(db, person, hashOfScratchCode(code));
  const step = stepOf(openSeed(sealer, person, sealed), digits, clock());
  return step !== undefined && useTfaStep(db, person, step);
}
