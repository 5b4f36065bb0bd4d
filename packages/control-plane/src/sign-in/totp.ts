import { randomBytes } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import { tfaSecretPlace } from "#identity/index.ts";
import type { Sealer } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";
import type { Person } from "./user-store.ts";

const PERIOD_SECONDS = 30;
/** Clocks differ, and people type slowly: the previous and the next step count too. */
const WINDOW = 1;
const SEED_BYTES = 20;
const SCRATCH_CODES = 8;
const SCRATCH_BYTES = 10;

export const newSeed = (): string => new Secret({ size: SEED_BYTES }).base32;

/** The content of the QR code for an authenticator app. */
export const enrolmentOf = (seed: string, username: string): string =>
  new TOTP({ issuer: "Moorage", label: username, secret: seed, period: PERIOD_SECONDS }).toString();

/** The time step of a code; undefined: it is not valid now. */
export function stepOf(seed: string, code: string, now: Date): number | undefined {
  const timestamp = now.getTime();
  const totp = new TOTP({ secret: seed, period: PERIOD_SECONDS });
  const delta = totp.validate({ token: code, timestamp, window: WINDOW });
  return delta === null ? undefined : totp.counter({ timestamp }) + delta;
}

/** Six digits in any grouping. Undefined: something else, perhaps a scratch code. */
export function digitsOf(typed: string): string | undefined {
  const digits = typed.replaceAll(/\s/g, "");
  return /^\d{6}$/.test(digits) ? digits : undefined;
}

/** For a lost authenticator: each works once. */
export const newScratchCodes = (): string[] =>
  Array.from({ length: SCRATCH_CODES }, () =>
    (new Secret({ buffer: new Uint8Array(randomBytes(SCRATCH_BYTES)).buffer }).base32.match(/.{4}/g) ?? []).join("-"),
  );

/** In upper or lower case, with or without dashes. With 80 bits they cannot be guessed from a hash. */
export const hashOfScratchCode = (typed: string): Buffer => sha256(typed.toUpperCase().replaceAll(/[^A-Z2-7]/g, ""));

export const sealSeed = (sealer: Sealer, person: Person, seed: string): string =>
  sealer.seal(tfaSecretPlace(person), seed);
export const openSeed = (sealer: Sealer, person: Person, sealed: string): string =>
  sealer.open(tfaSecretPlace(person), sealed);
