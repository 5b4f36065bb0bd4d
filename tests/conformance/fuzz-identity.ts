import { randomBytes } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import { query } from "../kit/records.ts";
import type { Tenant } from "../kit/tenant.ts";
import type { FuzzAccount } from "./fuzz-account.ts";

export type IdentityThings = { username: string; clientId: string; tokenId: number; appId: number; loginId: number };

const newName = (): string => `fuzz${randomBytes(6).toString("hex")}`;
const ONE_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

/** One of each kind. A consent and a login are made by people in a browser, so their rows are inserted directly. */
export async function identityThings({ id: accountId, owner }: FuzzAccount): Promise<IdentityThings> {
  const made = async <T>(path: string, body: object): Promise<T> => surely<T>(owner, "POST", path, body);
  const { uid } = await surely<{ uid: number }>(owner, "GET", "/v4/profile");
  const { username } = await made<{ username: string }>("/v4/account/users", newUser());
  const { id: clientId } = await made<{ id: string }>("/v4/account/oauth-clients", newClient());
  const { id: tokenId } = await made<{ id: number }>("/v4/profile/tokens", { label: newName() });
  const [app] = await query<{ id: number }>(
    `insert into app_grants (account_id, user_id, client_id, client_epoch, scopes, created_at, expires_at)
     values ($1, $2, $3, 1, '{events:read_only}', now(), now() + interval '14 days') returning id`,
    [accountId, uid, clientId],
  );
  const [login] = await query<{ id: number }>(
    `insert into logins (at, account_id, user_id, username, restricted, address, status)
     values (now(), $1, $2, 'fuzz', false, '192.0.2.1', 'successful') returning id`,
    [accountId, uid],
  );
  return { username, clientId, tokenId, appId: app?.id ?? 0, loginId: login?.id ?? 0 };
}

/** The token that the fuzzer itself uses, and must not delete. */
export async function actingTokenId({ owner, token }: FuzzAccount): Promise<number | undefined> {
  const path = "/v4/profile/tokens?page_size=500";
  const { data } = await surely<{ data: { id: number; token: string }[] }>(owner, "GET", path);
  return data.find((each) => each.token === token.slice(0, 16))?.id;
}

/** A valid body by the id of the operation; `named` is a field that needs a unique name each time. */
export const identityBodies = (databaseId: number): Record<string, { fields: object; named?: string }> => ({
  createUser: { fields: { email: "someone@fuzz.test", restricted: true }, named: "username" },
  updateUser: { fields: { email: "another@fuzz.test" } },
  updateUserGrants: {
    fields: { global: { add_databases: true }, database: [{ id: databaseId, permissions: "read_only" }] },
  },
  createOAuthClient: { fields: { redirect_uri: "https://fuzz.test/back" }, named: "label" },
  updateOAuthClient: { fields: { redirect_uri: "http://127.0.0.1/back" }, named: "label" },
  createPersonalToken: { fields: { scopes: "databases:read_only", expiry: "2999-01-01T00:00:00" }, named: "label" },
  updatePersonalToken: { fields: {}, named: "label" },
  updateProfile: { fields: { timezone: "Europe/Berlin", authorized_keys: [] } },
});

const newUser = () => ({ username: newName(), email: `${newName()}@fuzz.test`, restricted: true });
const newClient = () => ({ label: newName(), redirect_uri: "https://fuzz.test/back" });

/** What random input hardly ever gets right, done once in order with separate objects, and counted like the rest. */
export async function aDayOfIdentity(owner: Tenant, { username, clientId, tokenId, appId, loginId }: IdentityThings) {
  const did = (method: string, path: string, body?: object) => surely(owner, method, `/v4${path}`, body);
  await did("PUT", `/account/users/${username}`, { email: "moved@fuzz.test" });
  await did("PUT", `/account/users/${username}/grants`, { global: { account_access: "read_only" } });
  for (const path of ["", "/grants"]) await did("GET", `/account/users/${username}${path}`);
  await did("DELETE", `/account/users/${username}`);

  // First: another label ends the consent.
  await did("GET", `/profile/apps/${appId}`);
  await did("DELETE", `/profile/apps/${appId}`);
  await did("PUT", `/account/oauth-clients/${clientId}`, { label: newName() });
  await did("GET", `/account/oauth-clients/${clientId}`);
  await did("POST", `/account/oauth-clients/${clientId}/reset-secret`);
  await thumbnail(owner, clientId);
  await did("DELETE", `/account/oauth-clients/${clientId}`);

  await did("PUT", `/profile/tokens/${tokenId}`, { label: newName() });
  await did("GET", `/profile/tokens/${tokenId}`);
  await did("DELETE", `/profile/tokens/${tokenId}`);
  for (const path of ["/profile/logins", "/account/logins"]) await did("GET", `${path}/${loginId}`);

  await did("PUT", "/profile", { timezone: "Europe/Berlin" });
  await did("PUT", "/profile/preferences", { theme: "dark" });
  for (const path of ["", "/grants", "/preferences"]) await did("GET", `/profile${path}`);
  const { secret } = (await did("POST", "/profile/tfa-enable")) as { secret: string };
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  await did("POST", "/profile/tfa-enable-confirm", { tfa_code: code });
  await did("POST", "/profile/tfa-disable");
}

async function thumbnail(owner: Tenant, clientId: string): Promise<void> {
  const path = `/v4/account/oauth-clients/${clientId}/thumbnail`;
  const put = await owner.send("PUT", path, { type: "image/png", bytes: Buffer.from(ONE_PIXEL, "base64") });
  const got = await owner.send("GET", path);
  if (put.status !== 200 || got.headers.get("content-type") !== "image/png")
    throw new Error(`The thumbnail was answered ${put.status} and ${got.status}.`);
}

export async function surely<T>(owner: Tenant, method: string, path: string, body?: object): Promise<T> {
  const reply = await owner.call<T>(method, path, body);
  if (reply.status >= 300) throw new Error(`${method} ${path} was answered ${reply.status}: ${JSON.stringify(reply)}`);
  return reply.body;
}
