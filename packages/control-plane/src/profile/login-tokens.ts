import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { sha256 } from "#platform/sha256.ts";
import { deleteToken } from "./change-token.ts";
import { makeToken } from "./create-token.ts";
import { findOwner, type Person } from "./owner.ts";
import { findIssuedToken } from "./token-store.ts";

type Login = {
  person: Person;
  clientId: string;
  /** The whole token, which the authorization server has made. */
  token: string;
  label: string;
  scopes: string[];
  expires: Date;
};

/** The tokens of programs that a person signed in: personal tokens which the program itself can revoke. */
export const createLoginTokens = ({ db, clock }: { db: Db; clock: Clock }) => ({
  async issue(tx: Tx, { person, clientId, token, ...newToken }: Login): Promise<void> {
    const by = await findOwner(tx, person, clientId);
    await makeToken(tx, by, { ...newToken, secret: token, issuedTo: clientId }, clock());
  },

  async find(clientId: string, token: string) {
    const row = await findIssuedToken(db, clientId, sha256(token));
    return (
      row && {
        person: { accountId: row.account_id, userId: row.user_id },
        scopes: row.scopes,
        createdAt: row.created_at,
        expiresAt: row.expires_at,
      }
    );
  },

  /** In the name of the program that has it. One that is not there, or is another's, stays as it is. */
  async revoke(clientId: string, tokenSha256: Buffer): Promise<void> {
    const row = await findIssuedToken(db, clientId, tokenSha256);
    if (row === undefined) return;
    const by = await findOwner(db, { accountId: row.account_id, userId: row.user_id }, clientId);
    await deleteToken({ db, clock }, by, row.id);
  },
});
