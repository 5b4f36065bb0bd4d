import { recordLogin } from "#identity/index.ts";
import type { SignInDeps } from "./deps.ts";
import { recordRefusal, type Wait } from "./check-password.ts";
import { openSeed } from "./seed.ts";
import { digitsOf, hashOfScratchCode, stepOf } from "./totp.ts";
import { findUser, type Person, type UserRow, useScratchCode, useStep } from "./user-store.ts";

type CodeDeps = Pick<SignInDeps, "db" | "clock" | "throttle" | "sealer">;

/** Whether this is a code of the person's authenticator, or a scratch code. Each works once. */
export async function checkCode(
  deps: CodeDeps,
  { person, code, ip }: { person: Person; code: string; ip: string },
): Promise<Wait | { outcome: "wrong" | "right" }> {
  const { db, clock, throttle } = deps;
  const attempt = { at: "code", who: `${person.accountId}/${person.userId}`, ip } as const;
  const seconds = await throttle.take(attempt);
  if (seconds > 0) {
    await recordRefusal(deps, person, ip);
    return { outcome: "wait", seconds };
  }
  const user = await findUser(db, person);
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
  return step !== undefined && useStep(db, person, step);
}
