import { randomBytes } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import { sha256 } from "#platform/sha256.ts";

const PERIOD_SECONDS = 30;
/** Clocks differ, and people type slowly: a step before and a step after count too. */
const WINDOW = 1;
const SEED_BYTES = 20;
const SCRATCH_CODES = 8;
const SCRATCH_BYTES = 10;

export const newSeed = (): string => new Secret({ size: SEED_BYTES }).base32;

/** What a QR code says to an authenticator app. */
export const enrolmentOf = (seed: string, username: string): string =>
  new TOTP({ issuer: "Moorage", label: username, secret: seed, period: PERIOD_SECONDS }).toString();

/** The step that a code belongs to; undefined: it is none of the codes of this moment. */
export function stepOf(seed: string, code: string, now: Date): number | undefined {
  const timestamp = now.getTime();
  const totp = new TOTP({ secret: seed, period: PERIOD_SECONDS });
  const delta = totp.validate({ token: code, timestamp, window: WINDOW });
  return delta === null ? undefined : totp.counter({ timestamp }) + delta;
}

/** Six digits, however they are grouped. Undefined: it is something else, perhaps a scratch code. */
export function digitsOf(typed: string): string | undefined {
  const digits = typed.replaceAll(/\s/g, "");
  return /^\d{6}$/.test(digits) ? digits : undefined;
}

/** For the day when the authenticator is lost: each is good once. */
export const newScratchCodes = (): string[] =>
  Array.from({ length: SCRATCH_CODES }, () =>
    (new Secret({ buffer: new Uint8Array(randomBytes(SCRATCH_BYTES)).buffer }).base32.match(/.{4}/g) ?? []).join("-"),
  );

/** In any case of letters, with or without dashes. Their 80 bits cannot be guessed from a hash. */
export const hashOfScratchCode = (typed: string): Buffer => sha256(typed.toUpperCase().replaceAll(/[^A-Z2-7]/g, ""));
