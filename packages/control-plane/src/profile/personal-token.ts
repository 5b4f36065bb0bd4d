import { covers, type NewPersonalToken, readScopes, toDate, toTimestamp } from "@moorage/contract";
import { invalid } from "#platform/errors.ts";
import { tokenTexts as texts } from "./texts.ts";

export const DEFAULT_LABEL = "Personal access token";

/**
 * A token gets at most the scopes of the one that creates it. Missing or `*`: the same scopes. An empty list is
 * refused: a script with an empty variable should not get every scope.
 */
export function scopesOf(held: readonly string[], requested: NewPersonalToken["scopes"]): string[] {
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
export const scopesAsSent = (requested: NewPersonalToken["scopes"]): string | null =>
  requested === undefined || requested === null || readScopes(requested).scopes.includes("*") ? null : requested;

export function expiryOf(expiry: NewPersonalToken["expiry"], now: Date): Date | null {
  if (expiry === undefined || expiry === null) return null;
  const at = toDate(expiry);
  if (at <= now) throw invalid("expiry", texts.expiryInPast({ now: toTimestamp(now) }));
  return at;
}
