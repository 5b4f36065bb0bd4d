import type { NewPersonalToken, PersonalToken } from "@moorage/contract";
import { holdToken, invalidToken, issueToken, type Principal, requireFewerThan } from "#identity/index.ts";
import type { Once } from "#platform/http/once.ts";
import { DEFAULT_LABEL, expiryOf, scopesAsSent, scopesOf } from "./personal-token.ts";
import { recordTokenChange } from "./record-change.ts";
import { countTokens, findToken } from "./token-store.ts";
import type { ProfileDeps } from "./update-profile.ts";
import { viewOfToken } from "./view.ts";

const MOST_TOKENS = 500;

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
    requireFewerThan(MOST_TOKENS, await countTokens(tx, by), "tokens of yours");
    const scopes = scopesOf(by.scopes, asked);
    const expires = expiryOf(expiry, now);
    const { id, token } = await issueToken(
      tx,
      { account_id: by.accountId, id: by.userId },
      { label, scopes, scopesAsSent: scopesAsSent(asked), now, expires },
    );
    const view = viewOfToken(await findToken(tx, by, id), token);
    await once.keep(tx, view);
    await recordTokenChange(tx, by, {
      audited: "create_token",
      event: "token_create",
      of: { kind: "tokens", id, label },
      at: now,
      detail: { scopes },
    });
    return view;
  });
