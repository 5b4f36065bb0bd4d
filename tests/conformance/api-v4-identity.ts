import { Secret, TOTP } from "otpauth";
import { type Check, calls, refusedWith, unless } from "./api-v4-calls.ts";
import type { ClientThings } from "./client-things.ts";

const {
  confirmTwoFactor,
  createOAuthClient,
  createPersonalAccessToken,
  createUser,
  deleteAppToken,
  deleteOAuthClient,
  deletePersonalAccessToken,
  deleteUser,
  disableTwoFactor,
  getAccountLogin,
  getAccountLogins,
  getAppToken,
  getAppTokens,
  getGrants,
  getLogins,
  getMyGrants,
  getOAuthClient,
  getOAuthClients,
  getPersonalAccessToken,
  getPersonalAccessTokens,
  getProfile,
  getTFAToken,
  getUser,
  getUserPreferences,
  getUsers,
  resetOAuthClientSecret,
  updateGrants,
  updateOAuthClient,
  updatePersonalAccessToken,
  updateProfile,
  updateUser,
  updateUserPreferences,
} = calls;

export async function identity(things: ClientThings, check: Check): Promise<void> {
  await profile(check);
  await loginsAndApps(things, check);
  await users(`${things.label}-u`, check);
  await tokens(check);
  await oauthClients(check);
}

async function profile(check: Check): Promise<void> {
  await check("getProfile", () => getProfile());
  await check(
    "updateProfile",
    () => updateProfile({ timezone: "Europe/Berlin" }),
    unless((found) => found.timezone === "Europe/Berlin"),
  );
  await check("getMyGrants of an unrestricted user", () => getMyGrants());
  await check("updateUserPreferences", () => updateUserPreferences({ theme: "dark" }));
  await check(
    "getUserPreferences",
    () => getUserPreferences(),
    unless((found) => found["theme"] === "dark"),
  );
  const made = await check(
    "getTFAToken",
    () => getTFAToken(),
    unless((found) => found.secret.length > 10),
  );
  if (made === undefined) return;
  const code = new TOTP({ secret: Secret.fromBase32(made.secret) }).generate();
  await check(
    "confirmTwoFactor",
    () => confirmTwoFactor(code),
    unless((found) => found.scratch.length > 0),
  );
  await check("disableTwoFactor", () => disableTwoFactor());
}

async function loginsAndApps({ loginId, appId }: ClientThings, check: Check): Promise<void> {
  const has = unless(({ data }: { data: { id: number }[] }) => data.some(({ id }: { id: number }) => id === loginId));
  await check("getAccountLogins", () => getAccountLogins(), has);
  await check(
    "getAccountLogin",
    () => getAccountLogin(loginId),
    unless(({ status }) => status === "successful"),
  );
  await check("getLogins", () => getLogins(), has);
  await check(
    "getAppTokens",
    () => getAppTokens(),
    unless(({ results }) => results === 1),
  );
  await check(
    "getAppToken",
    () => getAppToken(appId),
    unless(({ scopes }) => scopes === "events:read_only"),
  );
  await check("deleteAppToken", () => deleteAppToken(appId));
  await check(
    "getAppToken of what is gone is 404",
    refusedWith(404, () => getAppToken(appId)),
  );
}

async function users(username: string, check: Check): Promise<void> {
  const made = await check(
    "createUser",
    () => createUser({ username, email: `${username}@js.test`, restricted: true }),
    unless((user) => user.restricted),
  );
  if (made === undefined) return;
  await check(
    "getUsers by name",
    () => getUsers({}, { username }),
    unless(({ results }) => results === 1),
  );
  await check(
    "getUser",
    () => getUser(username),
    unless((user) => user.username === username),
  );
  const grants = await check(
    "getGrants of a new user: none",
    () => getGrants(username),
    unless((found) => found.global.account_access === null),
  );
  if (grants !== undefined)
    await check(
      "updateGrants with everything that getGrants gave",
      () => updateGrants(username, { ...grants, global: { ...grants.global, add_databases: true } }),
      unless((found) => found.global.add_databases === true),
    );
  await check(
    "updateUser",
    () => updateUser(username, { restricted: false }),
    unless((user) => !user.restricted),
  );
  await check("deleteUser", () => deleteUser(username));
  await check(
    "getUser of what is gone is 404",
    refusedWith(404, () => getUser(username)),
  );
}

async function tokens(check: Check): Promise<void> {
  const made = await check(
    "createPersonalAccessToken",
    () => createPersonalAccessToken({ label: "js", scopes: "events:read_only" }),
    unless(({ token }) => token?.length === 64),
  );
  if (made === undefined) return;
  await check(
    "getPersonalAccessTokens",
    () => getPersonalAccessTokens(),
    unless(({ data }) => data.some(({ id }: { id: number }) => id === made.id)),
  );
  await check(
    "getPersonalAccessToken shows 16 characters",
    () => getPersonalAccessToken(made.id),
    unless(({ token }) => token === made.token?.slice(0, 16)),
  );
  await check(
    "updatePersonalAccessToken",
    () => updatePersonalAccessToken(made.id, { label: "js-b" }),
    unless(({ label }) => label === "js-b"),
  );
  await check("deletePersonalAccessToken", () => deletePersonalAccessToken(made.id));
}

async function oauthClients(check: Check): Promise<void> {
  const made = await check(
    "createOAuthClient",
    () => createOAuthClient({ label: "js", redirect_uri: "https://js.test/back", public: false }),
    unless(({ secret }) => secret.length === 64),
  );
  if (made === undefined) return;
  await check(
    "getOAuthClients by label",
    () => getOAuthClients({}, { label: "js" }),
    unless(({ data }) => data.length === 1 && data[0]?.id === made.id),
  );
  await check("getOAuthClient", () => getOAuthClient(made.id));
  await check(
    "updateOAuthClient",
    () => updateOAuthClient(made.id, { label: "js-b", redirect_uri: made.redirect_uri }),
    unless(({ label }) => label === "js-b"),
  );
  await check(
    "resetOAuthClientSecret gives another secret",
    () => resetOAuthClientSecret(made.id),
    ({ secret }) => (secret.length === 64 && secret !== made.secret ? undefined : "the same"),
  );
  await check("deleteOAuthClient", () => deleteOAuthClient(made.id));
}
