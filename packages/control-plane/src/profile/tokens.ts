import {
  covers,
  type NewPersonalToken,
  type PersonalToken,
  type PersonalTokenChange,
  readScopes,
  toDate,
  toTimestamp,
} from "@moorage/contract";
import {
  changeToken,
  CONFIRMED_MS,
  holdToken,
  invalidToken,
  issueToken,
  type Principal,
  requireFewerThan,
} from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { invalid } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { type Owner, recordTokenChange } from "./owner.ts";
import { tokenTexts as texts } from "./texts.ts";
import { countTokens, findToken, lockToken, type TokenRow } from "./token-store.ts";
import type { ProfileDeps } from "./update-profile.ts";
import { viewOfToken } from "./view.ts";

const DEFAULT_LABEL = "Personal access token";
const MOST_TOKENS = 500;

type NewToken = Omit<Parameters<typeof issueToken>[2], "now">;

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

/**
 * A token gets at most the scopes of the one that creates it. Missing or `*`: the same scopes. An empty list is
 * refused: a script with an empty variable should not get every scope.
 */
function scopesOf(held: readonly string[], requested: NewPersonalToken["scopes"]): string[] {
  if (requested === undefined || requested === null) return [...held];
  const { scopes, unknown } = readScopes(requested);
  if (unknown.length > 0) throw invalid("scopes", texts.scopesUnknown({ unknown }));
  if (scopes.length === 0) throw invalid("scopes", texts.scopesEmpty());
  if (scopes.includes("*")) return [...held];
  const missing = scopes.filter((scope) => !covers(held, [scope]));
  if (missing.length > 0) throw invalid("scopes", texts.scopesExceedCaller({ missing }));
  return scopes;
}

/** As the client wrote them, for clients that compare texts. Null: missing or `*`. */
const scopesAsSent = (requested: NewPersonalToken["scopes"]): string | null =>
  requested === undefined || requested === null || readScopes(requested).scopes.includes("*") ? null : requested;

function expiryOf(expiry: NewPersonalToken["expiry"], now: Date): Date | null {
  if (expiry === undefined || expiry === null) return null;
  const at = toDate(expiry);
  if (at <= now) throw invalid("expiry", texts.expiryInPast({ now: toTimestamp(now) }));
  return at;
}

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

/** A token's scopes cannot be changed. */
export const updateToken = (
  { db, clock }: ProfileDeps,
  by: Principal,
  id: number,
  change: PersonalTokenChange,
): Promise<TokenRow> =>
  db.transaction().execute(async (tx) => {
    const before = await lockToken(tx, by, id);
    const label = change.label ?? before.label;
    await changeToken(tx, by.accountId, id, { label });
    const after = await findToken(tx, by, id);
    await recordTokenChange(tx, by, {
      audited: "update_token",
      event: "token_update",
      of: { kind: "tokens", id, label },
      at: clock(),
    });
    return after;
  });

/** By its user, who has just signed in. */
export async function confirmToken(
  { db, clock }: Pick<ProfileDeps, "db" | "clock">,
  by: Owner,
  id: number,
): Promise<TokenRow> {
  const row = await db.transaction().execute(async (tx) => {
    const now = clock();
    const token = await lockToken(tx, by, id);
    await changeToken(tx, by.accountId, id, { confirmed_until: new Date(now.getTime() + CONFIRMED_MS) });
    await recordTokenChange(tx, by, {
      audited: "confirm_token",
      event: "token_update",
      of: { kind: "tokens", id, label: token.label },
      at: now,
    });
    return token;
  });
  await notify(db, "identity");
  return row;
}

/** Also the calling token: the next request with it is refused. */
export async function deleteToken(
  { db, clock }: Pick<ProfileDeps, "db" | "clock">,
  by: Owner,
  id: number,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const now = clock();
    const { label } = await lockToken(tx, by, id);
    await changeToken(tx, by.accountId, id, { revoked_at: now });
    await recordTokenChange(tx, by, {
      audited: "delete_token",
      event: "token_delete",
      of: { kind: "tokens", id, label },
      at: now,
    });
  });
  await notify(db, "identity");
}
