import type { Interactions } from "#auth/index.ts";
import type { Notices } from "#mail/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { OwnTokens } from "#profile/index.ts";
import type { FormTokens } from "./http.ts";
import type { Passwords } from "./passwords.ts";
import type { Throttle } from "./throttle.ts";
import type { Person } from "./user-store.ts";

export type SignInDeps = {
  db: Db;
  clock: Clock;
  sealer: Sealer;
  mails: Notices;
  throttle: Throttle;
  passwords: Passwords;
  interactions: Interactions;
  /** Ends every session of this person except the named one, and every sign-in in progress. */
  endSessions: (tx: Tx, person: Person, exceptUid?: string) => Promise<void>;
  formTokens: FormTokens;
  /** The public address of these pages: `https://login.example.com`. */
  authUrl: string;
  /** The public address of the API, if it is known. */
  publicUrl: string | undefined;
  /** Personal tokens of the person who is signed in. */
  tokens: OwnTokens;
};
