import { readScopes } from "@moorage/contract";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { deleteToken } from "./change-token.ts";
import { makeToken } from "./create-token.ts";
import { findOwner, type Person } from "./owner.ts";
import { listTokens, type TokenRow } from "./token-store.ts";

export type OwnTokens = {
  list(person: Person): Promise<TokenRow[]>;
  /** Who is signed in by a password or a passkey may give a token every scope. The token is known to this answer alone. */
  create(
    person: Person,
    newToken: { label: string; scopes: readonly string[]; expires: Date | null },
  ): Promise<{ row: TokenRow; token: string }>;
  revoke(person: Person, id: number): Promise<void>;
};

/** A person's tokens, for pages where they are signed in: by the same rules as `/v4/profile/tokens`. */
export const createOwnTokens = (deps: { db: Db; clock: Clock }): OwnTokens => ({
  list: (person) => listTokens(deps.db, person),
  create: (person, { label, scopes, expires }) =>
    deps.db.transaction().execute(async (tx) => {
      const newToken = { label, scopes: readScopes(scopes.join(" ")).scopes, expires };
      return makeToken(tx, await findOwner(tx, person), newToken, deps.clock());
    }),
  revoke: async (person, id) => deleteToken(deps, await findOwner(deps.db, person), id),
});
