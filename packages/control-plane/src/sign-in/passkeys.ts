import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import type { Selectable } from "kysely";
import { recordLogin } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { recordRefusal, type Wait } from "./check-password.ts";
import type { SignInDeps } from "./deps.ts";
import { recordSignInChange } from "./record-change.ts";
import { saveRecord, takeRecord } from "./record-store.ts";
import { findUser, lockUser, type Person, personOf, type UserRow } from "./user-store.ts";

type PasskeyRow = Selectable<Tables["passkeys"]>;

type PasskeyDeps = Pick<SignInDeps, "db" | "clock" | "sealer" | "mails" | "throttle" | "authUrl">;

const CHALLENGE_MINUTES = 5;
/** EdDSA, ES256 and RS256, which authenticators support. */
const ALGORITHMS = [-8, -7, -257];
/** More than anybody has devices. */
export const MOST_PASSKEYS = 20;

/**
 * For `navigator.credentials.create`. The authenticator stores the user's handle, and requires a fingerprint or PIN.
 */
export async function passkeyCreation(deps: PasskeyDeps, user: UserRow, sessionUid: string): Promise<object> {
  const { rpID } = siteOf(deps);
  const known = await listPasskeys(deps.db, personOf(user));
  const options = await generateRegistrationOptions({
    rpName: "Moorage",
    rpID,
    userID: new Uint8Array(Buffer.from(handleOf(user))),
    userName: user.username,
    userDisplayName: user.username,
    excludeCredentials: known.map(({ credential_id, transports }) => ({
      id: credential_id.toString("base64url"),
      transports,
    })),
    supportedAlgorithmIDs: ALGORITHMS,
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  await keepChallenge(deps, options.challenge, `session ${sessionUid}`);
  return options;
}

export type Added = "added" | "not-proven" | "known" | "too-many";

export async function addPasskey(
  deps: PasskeyDeps,
  { person, uid }: { person: Person; uid: string },
  { label, response }: { label: string; response: RegistrationResponseJSON },
): Promise<Added> {
  const { rpID, origin } = siteOf(deps);
  const verified = await verifyRegistrationResponse({
    response,
    expectedChallenge: useChallenge(deps, `session ${uid}`),
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(() => ({ verified: false as const, registrationInfo: undefined }));
  if (!verified.verified) return "not-proven";
  const { credential } = verified.registrationInfo;
  return deps.db.transaction().execute(async (tx): Promise<Added> => {
    const user = await lockUser(tx, person);
    if (user === undefined) return "not-proven";
    if ((await listPasskeys(tx, person)).length >= MOST_PASSKEYS) return "too-many";
    const isNew = await savePasskey(tx, {
      account_id: person.accountId,
      user_id: person.userId,
      label,
      credential_id: Buffer.from(credential.id, "base64url"),
      public_key: Buffer.from(credential.publicKey),
      counter: credential.counter,
      transports: [...(credential.transports ?? [])],
      created_at: deps.clock(),
    });
    if (!isNew) return "known";
    await recordSignInChange(tx, deps, user, "passkey_added");
    return "added";
  });
}

export const removePasskey = (deps: PasskeyDeps, person: Person, id: number): Promise<void> =>
  deps.db.transaction().execute(async (tx) => {
    const user = await lockUser(tx, person);
    if (user !== undefined && (await deletePasskey(tx, person, id)))
      await recordSignInChange(tx, deps, user, "passkey_removed");
  });

/** For `navigator.credentials.get`. It names no user: the authenticator offers the accounts that it has. */
export async function passkeyRequest(deps: PasskeyDeps, interactionUid: string): Promise<object> {
  const options = await generateAuthenticationOptions({ rpID: siteOf(deps).rpID, userVerification: "required" });
  await keepChallenge(deps, options.challenge, `interaction ${interactionUid}`);
  return options;
}

/** The owner of the passkey that answered. It counts as two factors: the device, and the fingerprint or PIN. */
export async function checkPasskey(
  deps: PasskeyDeps,
  { uid, response, ip }: { uid: string; response: AuthenticationResponseJSON; ip: string },
): Promise<Wait | { outcome: "wrong" } | { outcome: "right"; user: UserRow }> {
  const { db, clock, throttle } = deps;
  const attempt = { at: "passkey", ip } as const;
  const seconds = await throttle.take(attempt);
  if (seconds > 0) {
    await recordRefusal(deps, undefined, ip);
    return { outcome: "wait", seconds };
  }
  const passkey = await findPasskey(db, Buffer.from(response.id, "base64url"));
  const person = passkey && { accountId: passkey.account_id, userId: passkey.user_id };
  const user = person && (await findUser(db, person));
  const isRight = passkey !== undefined && user !== undefined && (await answers(deps, passkey, user, uid, response));
  if (isRight) await throttle.refund(attempt);
  await recordLogin(db, { at: clock(), person, address: ip, status: isRight ? "successful" : "failed" });
  return isRight ? { outcome: "right", user } : { outcome: "wrong" };
}

async function answers(
  deps: PasskeyDeps,
  passkey: PasskeyRow,
  user: UserRow,
  uid: string,
  response: AuthenticationResponseJSON,
): Promise<boolean> {
  const handle = response.response.userHandle;
  if (handle !== undefined && Buffer.from(handle, "base64url").toString() !== handleOf(user)) return false;
  const { rpID, origin } = siteOf(deps);
  // The library throws for anything invalid.
  const proven = await verifyAuthenticationResponse({
    response,
    expectedChallenge: useChallenge(deps, `interaction ${uid}`),
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: true,
    credential: {
      id: passkey.credential_id.toString("base64url"),
      publicKey: new Uint8Array(passkey.public_key),
      counter: passkey.counter,
    },
  }).catch(() => undefined);
  if (proven?.verified !== true) return false;
  return usePasskey(deps.db, passkey, proven.authenticationInfo.newCounter, deps.clock());
}

/** The user handle that an authenticator stores. It is meaningless to others. */
const handleOf = ({ account_id, id }: UserRow): string => `${account_id}.${id}`;

const siteOf = ({ authUrl }: PasskeyDeps) => ({ rpID: new URL(authUrl).hostname, origin: new URL(authUrl).origin });

/** A challenge is valid once, for the interaction or session that it was created for. */
const keepChallenge = (deps: PasskeyDeps, challenge: string, of: string): Promise<void> =>
  saveRecord(deps.db, deps, { model: "Challenge", key: challenge, minutes: CHALLENGE_MINUTES, payload: { of } });

const useChallenge =
  (deps: PasskeyDeps, of: string) =>
  async (challenge: string): Promise<boolean> =>
    (await takeRecord(deps.db, deps, { model: "Challenge", key: challenge }))?.payload.of === of;

export const listPasskeys = (db: Db | Tx, { accountId, userId }: Person): Promise<PasskeyRow[]> =>
  db
    .selectFrom("passkeys")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("user_id", "=", userId)
    .orderBy("id")
    .execute();

/** False: the credential is registered already. */
async function savePasskey(tx: Tx, passkey: Omit<PasskeyRow, "id" | "used_at">): Promise<boolean> {
  const saved = await tx
    .insertInto("passkeys")
    .values({ ...passkey, used_at: null })
    .onConflict((conflict) => conflict.column("credential_id").doNothing())
    .returning("id")
    .executeTakeFirst();
  return saved !== undefined;
}

async function deletePasskey(tx: Tx, { accountId, userId }: Person, id: number): Promise<boolean> {
  const deleted = await tx
    .deleteFrom("passkeys")
    .where("account_id", "=", accountId)
    .where("user_id", "=", userId)
    .where("id", "=", id)
    .returning("id")
    .executeTakeFirst();
  return deleted !== undefined;
}

/** Credential ids are globally unique; the row says whose it is. */
const findPasskey = (db: Db, credentialId: Buffer): Promise<PasskeyRow | undefined> =>
  db.selectFrom("passkeys").selectAll().where("credential_id", "=", credentialId).executeTakeFirst();

/**
 * A counter that does not grow means a cloned authenticator or a replay; many authenticators do not count and always
 * send 0.
 */
async function usePasskey(db: Db, { account_id, id }: PasskeyRow, counter: number, now: Date): Promise<boolean> {
  const used = await db
    .updateTable("passkeys")
    .set({ counter, used_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where(({ or, eb, and, val }) =>
      or([eb("counter", "<", counter), and([eb("counter", "=", 0), eb(val(counter), "=", 0)])]),
    )
    .returning("id")
    .executeTakeFirst();
  return used !== undefined;
}
