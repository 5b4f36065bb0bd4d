import { randomBytes } from "node:crypto";
import {
  type AddressLink,
  dropAddressLinks,
  dropPasswordLinks,
  findAddressLink,
  insertAddressLink,
  saveUserColumns,
} from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Tx } from "#platform/db/database.ts";
import { sha256 } from "#platform/sha256.ts";
import type { SignInDeps } from "./deps.ts";
import { recordSignInChange } from "./record-change.ts";
import { lockUser, type Person } from "./user-store.ts";

/** Creates a link that confirms a new address: valid once, for this many hours. */
export const createAddressLinks =
  ({ clock, authUrl }: { clock: Clock; authUrl: string }) =>
  async (tx: Tx, of: AddressLink, hours: number): Promise<string> => {
    const secret = randomBytes(32).toString("hex");
    const now = clock();
    const expiresAt = new Date(now.getTime() + hours * 3_600_000);
    await insertAddressLink(tx, of, { sha256: sha256(secret), createdAt: now, expiresAt });
    return new URL(`/address/${secret}`, authUrl).href;
  };

type ConfirmDeps = Pick<SignInDeps, "db" | "clock" | "mails">;

/** The address that this person would confirm. Links of others are like links that do not exist. */
export async function findNewAddress(
  { db, clock }: Pick<ConfirmDeps, "db" | "clock">,
  person: Person,
  secret: string,
): Promise<string | undefined> {
  const link = await findAddressLink(db, sha256(secret), clock());
  return link !== undefined && isSame(link.person, person) ? link.email : undefined;
}

/** Ends the links that were sent to the former address, which is notified. Undefined: the link is no longer valid. */
export const confirmAddress = (deps: ConfirmDeps, person: Person, secret: string): Promise<string | undefined> =>
  deps.db.transaction().execute(async (tx) => {
    const user = await lockUser(tx, person);
    const link = await findAddressLink(tx, sha256(secret), deps.clock());
    if (user === undefined || link === undefined || !isSame(link.person, person)) return undefined;
    await saveUserColumns(tx, user, { email: link.email });
    await dropAddressLinks(tx, person);
    await dropPasswordLinks(tx, person);
    await recordSignInChange(tx, deps, user, "address_changed");
    return link.email;
  });

const isSame = (one: Person, other: Person): boolean =>
  one.accountId === other.accountId && one.userId === other.userId;
