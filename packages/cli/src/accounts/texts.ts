import { defineTexts, text } from "@moorage/contract/texts";

type Amounts = { databases: number; nodes: number; memory_mb: number; disk_mb: number };
type OfAccount = { account: string };
type User = OfAccount & { username: string };
type OAuthClient = { label: string; id: string; account: number; status: string };
type Redirect = { label: string; id: string; uri: string };

export const amountsIn = ({ databases, nodes, memory_mb, disk_mb }: Amounts): string =>
  `${databases} databases, ${nodes} nodes, ${memory_mb} MB of memory and ${disk_mb} MB of disk`;

/** Accounts, users with their grants, tokens and OAuth clients. */
export const texts = defineTexts("cli_account", {
  accountSaved: text(
    ({ id, company, email }: { id: number; company: string; email: string }) =>
      `Account ${id} (${company}) is saved. Next, create a user: moorage admin user create ${id} <username> --email ${email}`,
    { id: 7, company: "Harbour Bakery", email: "owner@bakery.example" },
  ),
  availabilityInvalid: text(() => "The last argument must be on or off."),
  availabilityVisible: text(
    ({ account }: OfAccount) =>
      `Users of account ${account} can list what is available in each region: GET /v4/account/availability`,
    {
      account: "7",
    },
  ),
  availabilityHidden: text(
    ({ account }: OfAccount) => `Users of account ${account} cannot list what is available in each region.`,
    {
      account: "7",
    },
  ),
  accountReopened: text(
    ({ account }: OfAccount) =>
      `Account ${account} is open. Its users sign in as before and must create new tokens. Its databases are suspended until a user resumes them: moorage db resume <label>`,
    { account: "7" },
  ),
  limitsSaved: text(
    ({ account, limits }: OfAccount & { limits: Amounts }) => `Account ${account} may have ${amountsIn(limits)}.`,
    { account: "7", limits: { databases: 10, nodes: 30, memory_mb: 65_536, disk_mb: 1_048_576 } },
  ),
  capabilitiesSaved: text(
    ({ account, capabilities }: { account: string; capabilities: readonly string[] }) =>
      `Account ${account} has the capabilities: ${capabilities.join(", ") || "none"}.`,
    { account: "7", capabilities: ["Managed Databases"] },
  ),

  // Users.
  restrictedUserSaved: text(
    ({ account, username }: User) =>
      `User ${username} of account ${account} is saved. The user is restricted. Next, set grants: moorage admin user grants set ${account} ${username} --help`,
    { account: "7", username: "clerk" },
  ),
  unrestrictedUserSaved: text(
    ({ account, username }: User) =>
      `User ${username} of account ${account} is saved. Next, create a token: moorage admin token create ${account} ${username} --label <name> --scope '*', or a link to set a password: moorage admin user password-link ${account} ${username}`,
    { account: "7", username: "baker" },
  ),
  noUsers: text(
    ({ account }: OfAccount) =>
      `Account ${account} has no user. Create one: moorage admin user create ${account} <username> --email <address>`,
    { account: "7" },
  ),
  passwordLink: text(
    ({ username, expires, link }: { username: string; expires: string; link: string }) =>
      `Whoever opens this link can set the password of ${username}. The link works once, until ${expires} UTC:\n${link}`,
    { username: "baker", expires: "2026-01-31T12:00:00", link: "https://login.example.com/password/0123456789abcdef" },
  ),
  twoFactorOff: text(
    ({ username }: { username: string }) =>
      `Two-factor sign-in of ${username} is off: the password is sufficient. A mail notifies the user. Make sure that the user requested this.`,
    { username: "baker" },
  ),

  // Grants.
  grantsContradict: text(
    ({ grants }: { grants: readonly string[] }) =>
      `A grant cannot be in both --allow and --deny: ${grants.join(", ")}.`,
    { grants: ["add_databases"] },
  ),
  grantMissing: text(() => "Name at least one grant: --allow, --deny, --database or --compute."),
  grantInvalid: text(() => "The value must be an id and read_only, read_write or none, such as 1025=read_only."),
  userUnrestricted: text(
    ({ username }: { username: string }) => `User ${username} is not restricted and may do everything in the account.`,
    { username: "baker" },
  ),
  accountGrants: text(
    ({ username, grants }: { username: string; grants: readonly string[] }) =>
      `Grants of ${username} for the whole account: ${grants.join(", ") || "none"}.`,
    { username: "clerk", grants: ["add_databases"] },
  ),
  noDatabaseGrants: text(() => "Grants on single databases: none."),

  // Tokens.
  tokenCreated: text(
    ({ id, token }: { id: number; token: string }) => `Token ${id} is created. It is shown only once:\n${token}`,
    { id: 12, token: "0123456789abcdef" },
  ),
  noTokens: text(
    ({ account }: OfAccount) =>
      `Account ${account} has no token. Create one: moorage admin token create ${account} <username> --help`,
    { account: "7" },
  ),
  tokenRevoked: text(
    ({ id, label, username }: { id: number; label: string; username: string }) =>
      `Token ${id} (${label}) of ${username} is revoked. The API refuses the token within 1 s.`,
    { id: 12, label: "laptop", username: "baker" },
  ),

  // OAuth clients.
  noOauthClients: text(
    () => "No OAuth client is registered. Accounts register them with POST /v4/account/oauth-clients.",
  ),
  oauthClientEnabled: text(
    ({ label, id, account, status }: OAuthClient) =>
      `OAuth client ${label} (${id}) of account ${account} is ${status}. Its tokens that have not expired work again.`,
    { label: "Fleet board", id: "2737bf16b39ab5d7b4a1", account: 7, status: "active" },
  ),
  oauthClientBlocked: text(
    ({ label, id, account, status }: OAuthClient) =>
      `OAuth client ${label} (${id}) of account ${account} is ${status}. Nobody can sign in to the client, and the API refuses its tokens within 1 s.`,
    { label: "Fleet board", id: "2737bf16b39ab5d7b4a1", account: 7, status: "suspended" },
  ),
  oauthClientVerified: text(
    ({ label, id, account }: Omit<OAuthClient, "status">) =>
      `OAuth client ${label} (${id}) of account ${account} is verified: it may ask users of all accounts for consent, until its label or redirect URI changes.`,
    { label: "Fleet board", id: "2737bf16b39ab5d7b4a1", account: 7 },
  ),
  oauthClientNotVerified: text(
    ({ label, id, account }: Omit<OAuthClient, "status">) =>
      `OAuth client ${label} (${id}) of account ${account} is not verified: it may ask only users of that account for consent. Consents that were given stay; to end them: moorage admin oauth-client disable ${id}`,
    { label: "Fleet board", id: "2737bf16b39ab5d7b4a1", account: 7 },
  ),
  oauthClientQueryAllowed: text(
    ({ label, id, uri }: Redirect) =>
      `OAuth client ${label} (${id}) may add a query string to its redirect URI, ${uri}.`,
    { label: "Fleet board", id: "2737bf16b39ab5d7b4a1", uri: "https://app.example/cb" },
  ),
  oauthClientQueryDisallowed: text(
    ({ label, id, uri }: Redirect) =>
      `OAuth client ${label} (${id}) may not add a query string to its redirect URI, ${uri}.`,
    { label: "Fleet board", id: "2737bf16b39ab5d7b4a1", uri: "https://app.example/cb" },
  ),
});
