import type { NewPersonalToken, PersonalToken } from "@moorage/contract";
import { holdToken, invalidToken, issueToken, type Principal, requireFewerThan } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import type { Owner } from "./owner.ts";
import { DEFAULT_LABEL, expiryOf, scopesAsSent, scopesOf } from "./personal-token.ts";
import { recordTokenChange } from "./record-change.ts";
import { countTokens, findToken, type TokenRow } from "./token-store.ts";
import type { ProfileDeps } from "./update-profile.ts";
import { viewOfToken } from "./view.ts";

const MOST_TOKENS = 500;

type NewToken = Omit<Parameters<typeof issueToken>[2], "now">;

/** For all callers: an API request, the security page and `moorage login`. */
export async function makeToken(
  tx: Tx,
  by: Owner,
  newToken: NewToken,
  now: Date,
): Promise<{ row: TokenRow; token: string }> {
  const { label, scopes } = newToken;
  requireFewerThan(MOST_TOKENS, await countTokens(tx, by), "tokens per user");
  const { id, token } = await issueToken(tx, { account_id: by.accountId, id: by.userId }, { ...newToken, now });
  await recordTokenChange(tx, by, {
    audited: "create_token",
    event: "token_create",
    of: { kind: "tokens", id, label },
    at: now,
    detail: { scopes },
  });
  return { row: await findToken(tx, by, id), token };
}

/** The only answer with the full token. */
export const createToken = (
  { db, clock }: ProfileDeps,
  by: Principal,
  { label = DEFAULT_LABEL, scopes: requested, expiry }: NewPersonalToken,
  idempotency: Idempotency,
): Promise<PersonalToken> =>
  db.transaction().execute(async (tx) => {
    const now = clock();
    await idempotency.claim(tx);
    // A token that was just revoked may still be in the cache. A token that it created would outlive it.
    if (!(await holdToken(tx, by))) throw invalidToken();
    const newToken = {
      label,
      scopes: scopesOf(by.scopes, requested),
      scopesAsSent: scopesAsSent(requested),
      expires: expiryOf(expiry, now),
    };
    const { row, token } = await makeToken(tx, by, newToken, now);
    const view = viewOfToken(row, token);
    await idempotency.keep(tx, view);
    return view;
  });
