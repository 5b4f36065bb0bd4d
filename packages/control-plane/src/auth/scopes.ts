import { areas, covers, readScopes } from "@moorage/contract";

/** Requests an ID token, which says who signed in. It grants no access. */
export const OPENID = "openid";

export const allScopes: readonly string[] = [
  "*",
  ...Object.keys(areas).flatMap((area) => [`${area}:read_only`, `${area}:read_write`]),
];

/** A client's list of scopes in our spelling, separated by spaces; unknown scopes come last, unchanged. */
export function spellScopes(text: string): string {
  const named = text.split(/[\s,]+/);
  // A refresh token is always issued, without its scope.
  const { scopes, unknown } = readScopes(
    named.filter((each) => each !== OPENID && each !== "offline_access").join(" "),
  );
  return [...(named.includes(OPENID) ? [OPENID] : []), ...scopes, ...unknown].join(" ");
}

export const ofApi = (scopes: readonly string[]): string[] => scopes.filter((scope) => scope !== OPENID);

/** These scopes, and all that they include. */
export const included = (scopes: readonly string[]): string[] => [
  ...scopes.filter((scope) => scope === OPENID),
  ...allScopes.filter((scope) => covers(ofApi(scopes), [scope])),
];

/** The requested scopes that `held` allows, without those that another of them includes. */
export function within(held: readonly string[], requested: Iterable<string>): string[] {
  const requestedSet = new Set(requested);
  const allowed = included(held).filter((scope) => requestedSet.has(scope));
  return allowed.filter(
    (scope) => scope === OPENID || !ofApi(allowed).some((other) => other !== scope && covers([other], [scope])),
  );
}
