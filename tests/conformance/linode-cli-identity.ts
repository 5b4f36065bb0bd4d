import { Secret, TOTP } from "otpauth";
import { unique } from "../kit/unique.ts";
import type { Checks } from "./checks.ts";
import type { ClientThings } from "./client-things.ts";
import { type Cli, differs, lacks, oneOf, type Row } from "./linode-cli-rows.ts";

type Check = Checks["check"];

/** Users, tokens and OAuth clients of a tenant, each created, read, changed and deleted. */
export async function identity(cli: Cli, things: ClientThings, broken: Set<string>, check: Check): Promise<void> {
  await profile(cli, check);
  await loginsAndApps(cli, things, check);
  await secondFactor(cli, check);
  await users(cli, broken, check);
  await tokens(cli, check);
  await clients(cli, check);
}

export const one = (cli: Cli, ...args: string[]): Promise<Row> => cli(...args).then(oneOf);
/** It exits with 1 when the API refuses. */
export const gone = async (cli: Cli, ...args: string[]): Promise<void> => {
  const code = await cli(...args).then(
    () => 0,
    (error: { code?: number }) => error.code,
  );
  if (code !== 1) throw new Error(`exit code ${code}`);
};

async function profile(cli: Cli, check: Check): Promise<void> {
  const own = await check("profile view", () => one(cli, "profile", "view"));
  if (own === undefined) return;
  const zone = own["timezone"] === "Europe/Berlin" ? "Europe/Paris" : "Europe/Berlin";
  await check(
    "profile update",
    () => one(cli, "profile", "update", "--timezone", zone),
    differs({ timezone: zone, email: own["email"] }),
  );
  await check("profile update back", () => one(cli, "profile", "update", "--timezone", String(own["timezone"])));
}

async function loginsAndApps(cli: Cli, { loginId, appId }: ClientThings, check: Check): Promise<void> {
  for (const family of ["profile", "account"]) {
    await check(`${family} logins-list`, () => cli(family, "logins-list"), lacks("id", loginId));
    await check(
      `${family} login-view`,
      () => one(cli, family, "login-view", String(loginId)),
      differs({ id: loginId }),
    );
  }
  await check("profile apps-list", () => cli("profile", "apps-list"), lacks("id", appId));
  await check(
    "profile app-view",
    () => one(cli, "profile", "app-view", String(appId)),
    differs({ scopes: "events:read_only" }),
  );
  await check("profile app-delete", () => cli("profile", "app-delete", String(appId)));
  await check("profile app-view of what is gone exits with 1", () => gone(cli, "profile", "app-view", String(appId)));
}

async function secondFactor(cli: Cli, check: Check): Promise<void> {
  const made = await check("profile tfa-enable", () => one(cli, "profile", "tfa-enable"));
  if (made === undefined) return;
  const code = new TOTP({ secret: Secret.fromBase32(String(made["secret"])) }).generate();
  await check(
    "profile tfa-confirm",
    () => one(cli, "profile", "tfa-confirm", "--tfa_code", code),
    (row) => (typeof row["scratch"] === "string" ? undefined : "no scratch code"),
  );
  await check("profile tfa-disable", () => cli("profile", "tfa-disable"));
}

async function users(cli: Cli, broken: Set<string>, check: Check): Promise<void> {
  const username = unique("cli");
  const made = await check(
    "users create",
    () =>
      one(cli, "users", "create", "--username", username, "--email", `${username}@cli.test`, "--restricted", "true"),
    differs({ username, restricted: true, tfa_enabled: false }),
  );
  if (made === undefined) return;
  await check("users list", () => cli("users", "list"), lacks("username", username));
  await check("users list --username", () => cli("users", "list", "--username", username), lacks("username", username));
  await check("users view breaks as is known: it prints nothing", async () => {
    if ((await cli("users", "view", username)).length > 0) throw new Error("it prints something");
    broken.add("viewUser");
  });
  await check(
    "users update",
    () => one(cli, "users", "update", username, "--restricted", "false"),
    differs({ username, restricted: false }),
  );
  await check("users delete", () => cli("users", "delete", username));
  await check("users view of what is gone exits with 1", () => gone(cli, "users", "view", username));
}

async function tokens(cli: Cli, check: Check): Promise<void> {
  const label = unique("cli");
  const made = await check(
    "profile token-create",
    () => one(cli, "profile", "token-create", "--label", label, "--scopes", "databases:read_only"),
    (row) => (/^[0-9a-f]{64}$/.test(String(row["token"])) ? undefined : "no token of 64 hexadecimal digits"),
  );
  if (made === undefined) return;
  const id = String(made["id"]);
  const start = String(made["token"]).slice(0, 16);
  await check("profile tokens-list", () => cli("profile", "tokens-list"), lacks("label", label));
  await check(
    "profile token-view shows its first 16 characters",
    () => one(cli, "profile", "token-view", id),
    differs({ token: start, scopes: "databases:read_only", expiry: null }),
  );
  await check(
    "profile token-update",
    () => one(cli, "profile", "token-update", id, "--label", `${label}-b`),
    differs({ label: `${label}-b` }),
  );
  await check("profile token-delete", () => cli("profile", "token-delete", id));
  await check("profile token-view of what is gone exits with 1", () => gone(cli, "profile", "token-view", id));
}

async function clients(cli: Cli, check: Check): Promise<void> {
  const label = unique("cli");
  const made = await check(
    "account client-create",
    () => one(cli, "account", "client-create", "--label", label, "--redirect_uri", "https://cli.test/back"),
    (row) => (/^[0-9a-f]{64}$/.test(String(row["secret"])) ? undefined : "no secret of 64 hexadecimal digits"),
  );
  if (made === undefined) return;
  const id = String(made["id"]);
  await check("account clients-list", () => cli("account", "clients-list"), lacks("id", id));
  await check(
    "account client-view shows no secret",
    () => one(cli, "account", "client-view", id),
    differs({ label, public: false, status: "active", secret: "<REDACTED>" }),
  );
  await check(
    "account client-update",
    () => one(cli, "account", "client-update", id, "--label", `${label}-b`),
    differs({ label: `${label}-b`, redirect_uri: "https://cli.test/back" }),
  );
  await check(
    "account client-reset-secret gives another secret",
    () => one(cli, "account", "client-reset-secret", id),
    (row) =>
      /^[0-9a-f]{64}$/.test(String(row["secret"])) && row["secret"] !== made["secret"] ? undefined : "the same",
  );
  await check("account client-delete", () => cli("account", "client-delete", id));
  await check("account client-view of what is gone exits with 1", () => gone(cli, "account", "client-view", id));
}
