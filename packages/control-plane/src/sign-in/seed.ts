import type { Sealer } from "#platform/seal.ts";
import type { Person } from "./user-store.ts";

/** The offered and the confirmed secret are sealed alike: confirming moves the sealed text unchanged. */
const placeOf = ({ accountId, userId }: Person) => ["users", "tfa_secret", accountId, userId] as const;

export const sealSeed = (sealer: Sealer, person: Person, seed: string): string => sealer.seal(placeOf(person), seed);
export const openSeed = (sealer: Sealer, person: Person, sealed: string): string =>
  sealer.open(placeOf(person), sealed);
