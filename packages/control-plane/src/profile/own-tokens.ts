import { readScopes } from "@moorage/contract";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { deleteToken } from "./change-token.ts";
import { makeToken } from "./create-token.ts";
import { findOwner, type Person } from "./owner.ts";
import { listTokens, type TokenRow } from "./token-store.ts";

export type OwnTokens = {
  list(person: Person): Promise<TokenRow[]>;
  /** A person signed in by password or passkey may grant every scope. Only this answer contains the full token. */
  create(
    person: Person,
    newToken: { label: string; scopes: readonly string[]; expires: Date | null },
  ): Promise<{ row: TokenRow; token: string }>;
  revoke(person: Person, id: number): Promise<void>;
};

/** A person's tokens, for our pages: with the same rules as `/v4/profile/tokens`. */
export const createOwnTokens = (deps: { db: Db; clock: Clock }): OwnTokens => ({
  list: (person) => listTokens(deps.db, person),
  create: (person, { label, scopes, expires }) =>
    deps.db.transaction().execute(async (tx) => {
      const newToken = { label, scopes: readScopes(scopes.join(" ")).scopes, expires };
      return makeToken(tx, await findOwner(tx, person), newToken, deps.clock());
    }),
  revoke: async (person, id) => deleteToken(deps, await findOwner(deps.db, person), id),
});
