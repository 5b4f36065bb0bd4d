import { recordChange, type RecordedChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";

/** The owner of tokens: the caller of a request, or a person on one of our pages, who has no token. */
export type Owner = Pick<Principal, "accountId" | "userId" | "username" | "clientId">;
export type Person = Pick<Owner, "accountId" | "userId">;

/** `clientId`: the program that acts for the person. Users of a closed account are not found. */
export async function findOwner(db: Db | Tx, person: Person, clientId: string | null = null): Promise<Owner> {
  const { username } = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select("users.username")
    .where("users.account_id", "=", person.accountId)
    .where("users.id", "=", person.userId)
    .where("accounts.closed_at", "is", null)
    .executeTakeFirstOrThrow(notFound);
  return { ...person, username, clientId };
}

/** A token of the user, or an app that they authorized. */
type Change = RecordedChange & { of: { kind: "tokens" | "apps"; id: number; label: string } };

export const recordTokenChange = (tx: Tx, by: Owner, { of, ...change }: Change): Promise<void> =>
  recordChange(tx, by, {
    ...change,
    target: of.kind === "tokens" ? `token/${of.id}` : `app/${of.id}`,
    entity: { id: of.id, label: of.label, type: "token", url: `/v4/profile/${of.kind}/${of.id}` },
  });
