import { spellScopes } from "./scopes.ts";

/**
 * What real clients send, as the one form that the provider knows. A name that comes twice stays twice, so that the
 * provider refuses it.
 */

/** `scope` or `scopes`, in any of their spellings. Both are one if they say the same. */
function spellScope(params: URLSearchParams): void {
  const spelled = new Set([...params.getAll("scope"), ...params.getAll("scopes")].map(spellScopes));
  params.delete("scope");
  params.delete("scopes");
  for (const each of spelled) params.append("scope", each);
}

export function readAuthorizeQuery(search: string): string {
  const params = new URLSearchParams(search);
  spellScope(params);
  // Answers come in the query, where no script of ours has to pass them on. The provider knows more ways, and would
  // use one of them to say that it is not allowed; a name that it does not know it refuses in the usual way.
  if (params.getAll("response_mode").some((mode) => mode !== "query")) params.set("response_mode", "unknown");
  return params.toString();
}

export function readTokenForm(form: URLSearchParams): URLSearchParams {
  const params = new URLSearchParams(form);
  spellScope(params);
  // One SDK leaves it out.
  if (!params.has("grant_type")) params.set("grant_type", "authorization_code");
  return params;
}

export function readDeviceForm(form: URLSearchParams): URLSearchParams {
  const params = new URLSearchParams(form);
  spellScope(params);
  return params;
}
