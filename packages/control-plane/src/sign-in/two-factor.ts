import { saveSignIn } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import type { SignInDeps } from "./deps.ts";
import { recordSignInChange } from "./record-change.ts";
import { texts } from "./rules/texts.ts";
import { hashOfScratchCode, newScratchCodes, newSeed, openSeed, sealSeed, stepOf } from "./totp.ts";
import { lockUser, type Person, personOf, replaceScratchCodes, type UserRow } from "./user-store.ts";

export type TwoFactorDeps = Pick<SignInDeps, "db" | "clock" | "sealer" | "mails">;

const OFFERED_MS = 3_600_000;

/**
 * Creates a seed for an authenticator app, which takes effect once it is confirmed by a code. A new offer replaces the
 * last.
 */
export const offerTwoFactor = <Reply>(
  { db, clock, sealer }: TwoFactorDeps,
  person: Person,
  idempotency: Idempotency,
  replyOf: (offer: { secret: string; until: Date }) => Reply,
): Promise<Reply> =>
  db.transaction().execute(async (tx) => {
    await idempotency.claim(tx);
    requireOff(await lock(tx, person));
    const secret = newSeed();
    const until = new Date(clock().getTime() + OFFERED_MS);
    const columns = { tfa_offered_secret: sealSeed(sealer, person, secret), tfa_offered_until: until };
    await saveSignIn(tx, person, columns);
    const reply = replyOf({ secret, until });
    await idempotency.keep(tx, reply);
    return reply;
  });

/** The seed that waits for confirmation, if any. */
export function offeredSeed({ clock, sealer }: Pick<TwoFactorDeps, "clock" | "sealer">, user: UserRow) {
  const { tfa_offered_secret: sealed, tfa_offered_until: until } = user;
  if (sealed === null || until === null || until <= clock()) return undefined;
  return openSeed(sealer, personOf(user), sealed);
}

/** The only answer with the scratch codes. */
export const confirmTwoFactor = <Reply>(
  deps: TwoFactorDeps,
  person: Person,
  code: string,
  idempotency: Idempotency,
  replyOf: (scratchCodes: string[]) => Reply,
): Promise<Reply> =>
  deps.db.transaction().execute(async (tx) => {
    await idempotency.claim(tx);
    const user = await lock(tx, person);
    requireOff(user);
    const seed = offeredSeed(deps, user);
    if (seed === undefined) throw new DomainError("wrong-state", { reason: texts.tfaNotOffered() });
    const step = stepOf(seed, code, deps.clock());
    if (step === undefined) throw new DomainError("invalid", { field: "tfa_code", reason: texts.tfaCodeWrong() });
    const scratchCodes = newScratchCodes();
    await saveSignIn(tx, person, {
      tfa_secret: user.tfa_offered_secret,
      tfa_enabled_at: deps.clock(),
      // The code that confirmed it cannot be used to sign in.
      tfa_last_step: step,
      tfa_offered_secret: null,
      tfa_offered_until: null,
    });
    await replaceScratchCodes(tx, person, scratchCodes.map(hashOfScratchCode));
    await recordSignInChange(tx, deps, user, "tfa_enabled");
    const reply = replyOf(scratchCodes);
    await idempotency.keep(tx, reply);
    return reply;
  });

/** Succeeds also if it is off already. */
export const disableTwoFactor = (deps: TwoFactorDeps, person: Person, idempotency: Idempotency): Promise<void> =>
  deps.db.transaction().execute(async (tx) => {
    await idempotency.claim(tx);
    await turnOff(tx, deps, person);
    await idempotency.keep(tx, {});
  });

/** For a user who has lost the authenticator and the scratch codes, and whom the operator has identified. */
export const createTwoFactorRescue =
  (deps: Pick<TwoFactorDeps, "clock" | "mails">) =>
  (tx: Tx, person: Person): Promise<void> =>
    turnOff(tx, deps, person, "operator");

async function turnOff(
  tx: Tx,
  deps: Pick<TwoFactorDeps, "clock" | "mails">,
  person: Person,
  by?: "operator",
): Promise<void> {
  const user = await lock(tx, person);
  const none = { tfa_secret: null, tfa_enabled_at: null, tfa_last_step: null };
  await saveSignIn(tx, person, { ...none, tfa_offered_secret: null, tfa_offered_until: null });
  await replaceScratchCodes(tx, person, []);
  if (user.tfa_enabled_at !== null) await recordSignInChange(tx, deps, user, "tfa_disabled", by);
}

async function lock(tx: Tx, person: Person): Promise<UserRow> {
  const user = await lockUser(tx, person);
  if (user === undefined) throw notFound();
  return user;
}

function requireOff({ tfa_enabled_at }: UserRow): void {
  if (tfa_enabled_at !== null) throw new DomainError("wrong-state", { reason: texts.tfaAlreadyEnabled() });
}
