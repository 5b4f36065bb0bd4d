import type { NewPersonalToken, PersonalToken } from "@moorage/contract";
import { holdToken, invalidToken, issueToken, type Principal, requireFewerThan } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Once } from "#platform/http/once.ts";
import type { Owner } from "./owner.ts";
import { DEFAULT_LABEL, expiryOf, scopesAsSent, scopesOf } from "./personal-token.ts";
import { recordTokenChange } from "./record-change.ts";
import { countTokens, findToken, type TokenRow } from "./token-store.ts";
import type { ProfileDeps } from "./update-profile.ts";
import { viewOfToken } from "./view.ts";

const MOST_TOKENS = 500;

type Wanted = Omit<Parameters<typeof issueToken>[2], "now">;

/** Whoever asks for it: a request, the security page or `moorage login`. */
export async function makeToken(
  tx: Tx,
  by: Owner,
  wanted: Wanted,
  now: Date,
): Promise<{ row: TokenRow; token: string }> {
  const { label, scopes } = wanted;
  requireFewerThan(MOST_TOKENS, await countTokens(tx, by), "tokens of yours");
  const { id, token } = await issueToken(tx, { account_id: by.accountId, id: by.userId }, { ...wanted, now });
  await recordTokenChange(tx, by, {
    audited: "create_token",
    event: "token_create",
    of: { kind: "tokens", id, label },
    at: now,
    detail: { scopes },
  });
  return { row: await findToken(tx, by, id), token };
}

/** The one answer that has all of it. */
export const createToken = (
  { db, clock }: ProfileDeps,
  by: Principal,
  { label = DEFAULT_LABEL, scopes: asked, expiry }: NewPersonalToken,
  once: Once,
): Promise<PersonalToken> =>
  db.transaction().execute(async (tx) => {
    const now = clock();
    await once.claim(tx);
    // A token that was just revoked may be known here for a moment. What it makes would live on.
    if (!(await holdToken(tx, by))) throw invalidToken();
    const wanted = {
      ...{ label, scopes: scopesOf(by.scopes, asked), scopesAsSent: scopesAsSent(asked) },
      expires: expiryOf(expiry, now),
    };
    const { row, token } = await makeToken(tx, by, wanted, now);
    const view = viewOfToken(row, token);
    await once.keep(tx, view);
    return view;
  });
