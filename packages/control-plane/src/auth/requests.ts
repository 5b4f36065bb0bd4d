import { spellScopes } from "./scopes.ts";

/**
 * Translates the requests of real clients into the one form that the provider accepts. A parameter that was sent twice
 * stays twice, so that the provider refuses it.
 */

/** `scope` or `scopes`, in any spelling. If both are sent with the same value, they become one. */
function spellScope(params: URLSearchParams): void {
  const spelled = new Set([...params.getAll("scope"), ...params.getAll("scopes")].map(spellScopes));
  params.delete("scope");
  params.delete("scopes");
  for (const each of spelled) params.append("scope", each);
}

export function readAuthorizeQuery(search: string): string {
  const params = new URLSearchParams(search);
  spellScope(params);
  // Answers are sent in the query, which needs no script. The provider supports other modes, and would use them to
  // report that they are not allowed; an unknown mode is refused in the usual way.
  if (params.getAll("response_mode").some((mode) => mode !== "query")) params.set("response_mode", "unknown");
  return params.toString();
}

export function readTokenForm(form: URLSearchParams): URLSearchParams {
  const params = new URLSearchParams(form);
  spellScope(params);
  // One SDK omits it.
  if (!params.has("grant_type")) params.set("grant_type", "authorization_code");
  return params;
}

export function readDeviceForm(form: URLSearchParams): URLSearchParams {
  const params = new URLSearchParams(form);
  spellScope(params);
  return params;
}
