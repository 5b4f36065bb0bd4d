import { areas, covers, readScopes } from "@moorage/contract";

/** Asks for an ID token, which says who signed in. It opens nothing. */
export const OPENID = "openid";

export const allScopes: readonly string[] = [
  "*",
  ...Object.keys(areas).flatMap((area) => [`${area}:read_only`, `${area}:read_write`]),
];

/** A list as clients write it, in our spelling and with spaces; what there is not comes last, as it was written. */
export function spellScopes(text: string): string {
  const named = text.split(/[\s,]+/);
  // A refresh token comes without being asked for.
  const { scopes, unknown } = readScopes(
    named.filter((each) => each !== OPENID && each !== "offline_access").join(" "),
  );
  return [...(named.includes(OPENID) ? [OPENID] : []), ...scopes, ...unknown].join(" ");
}

export const ofApi = (scopes: readonly string[]): string[] => scopes.filter((scope) => scope !== OPENID);

/** These, and everything that they include. */
export const included = (scopes: readonly string[]): string[] => [
  ...scopes.filter((scope) => scope === OPENID),
  ...allScopes.filter((scope) => covers(ofApi(scopes), [scope])),
];

/** What of the wanted who holds these may have, without what another of them includes. */
export function within(held: readonly string[], requested: Iterable<string>): string[] {
  const requestedSet = new Set(requested);
  const allowed = included(held).filter((scope) => requestedSet.has(scope));
  return allowed.filter(
    (scope) => scope === OPENID || !ofApi(allowed).some((other) => other !== scope && covers([other], [scope])),
  );
}
