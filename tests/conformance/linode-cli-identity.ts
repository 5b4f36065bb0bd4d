import { type Checks, leaveOut } from "./checks.ts";
import { type Cli, differs, lacks, oneOf, type Row } from "./linode-cli-rows.ts";

type Check = Checks["check"];

/** Users, tokens and OAuth clients of a tenant, each made, read, changed and deleted. */
export async function identity(cli: Cli, check: Check): Promise<void> {
  await profile(cli, check);
  await users(cli, check);
  await tokens(cli, check);
  await clients(cli, check);
  leaveOut("users grants", "this version has no verb for them");
}

const newName = (): string => `cli-${Date.now().toString(36)}`;
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
  await check("profile logins-list", () => cli("profile", "logins-list"));
  await check("profile apps-list", () => cli("profile", "apps-list"));
  await check("account logins-list", () => cli("account", "logins-list"));
}

async function users(cli: Cli, check: Check): Promise<void> {
  const username = newName();
  const made = await check(
    "users create",
    () =>
      one(cli, "users", "create", "--username", username, "--email", `${username}@cli.test`, "--restricted", "true"),
    differs({ username, restricted: true, tfa_enabled: false }),
  );
  if (made === undefined) return;
  await check("users list", () => cli("users", "list"), lacks("username", username));
  await check("users list --username", () => cli("users", "list", "--username", username), lacks("username", username));
  leaveOut("what users view answered", "this version prints nothing of it");
  await check("users view", () => cli("users", "view", username));
  leaveOut("users update --username", "this version puts the new name into the address, where nobody has it yet");
  await check(
    "users update",
    () => one(cli, "users", "update", username, "--restricted", "false"),
    differs({ username, restricted: false }),
  );
  await check("users delete", () => cli("users", "delete", username));
  await check("users view of what is gone exits with 1", () => gone(cli, "users", "view", username));
}

async function tokens(cli: Cli, check: Check): Promise<void> {
  const label = newName();
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
  const label = newName();
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
