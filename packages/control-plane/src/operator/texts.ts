import { defineTexts, text } from "@moorage/contract/texts";

type Id = { id: string | number | undefined };
type OfAccount = { account: number };

const unknown = (what: string, { id }: Id, command: string): string =>
  `No ${what} has the id ${id}. See: moorage admin ${command}`;

/** What an operator reads. The three texts about OAuth clients are events of their accounts, so tenants read them. */
export const texts = defineTexts("operator", {
  tokenRequired: text(
    () => "This interface requires the operator's token. Send it as `Authorization: Bearer <token>`.",
  ),

  // Accounts, users, tokens.
  accountUnknown: text((given: Id) => unknown("account", given, "account list"), { id: 7 }),
  userUnknown: text(
    ({ account, username }: OfAccount & { username: string }) =>
      `Account ${account} has no user ${username}. See: moorage admin user list ${account}`,
    { account: 7, username: "clerk" },
  ),
  usernameTaken: text(() => "a name that no user of this installation has"),
  userNotRestricted: text(
    ({ account, username, email }: OfAccount & { username: string; email: string }) =>
      `${username} is not restricted and may do everything. To set single grants, first restrict the user: moorage admin user create ${account} ${username} --email ${email} --restricted`,
    { account: 7, username: "clerk", email: "clerk@harbour.example" },
  ),
  entityUnknown: text(
    ({ account, kind, id }: OfAccount & { kind: string; id: number }) => `Account ${account} has no ${kind} ${id}.`,
    { account: 7, kind: "database", id: 1025 },
  ),
  tokenUnknown: text(
    ({ account, id }: OfAccount & Id) =>
      `Account ${account} has no token ${id}. See: moorage admin token list ${account}`,
    { account: 7, id: 12 },
  ),
  expiryNotInFuture: text(({ now }: { now: string }) => `a time in the future, in UTC; it is now ${now}`, {
    now: "2026-01-31T12:00:00",
  }),
  signInNotConfigured: text(
    () =>
      "Users cannot sign in to this installation: MOORAGE_AUTH_URL is not set for the api process. Set MOORAGE_AUTH_URL first.",
  ),

  // OAuth clients.
  oauthClientUnknown: text((given: Id) => unknown("OAuth client", given, "oauth-client list"), {
    id: "2737bf16b39ab5d7b4a1",
  }),
  oauthClientStatusSet: text(
    ({ status }: { status: string }) => `The operator set the status of this OAuth client to ${status}.`,
    {
      status: "suspended",
    },
  ),
  oauthClientQueryAllowed: text(
    () => "The operator allows this OAuth client to add a query string to its redirect URI.",
  ),
  oauthClientQueryDisallowed: text(
    () => "The operator does not allow this OAuth client to add a query string to its redirect URI.",
  ),
  oauthClientVerified: text(
    () => "The operator verified this OAuth client: it may ask users of all accounts for consent.",
  ),
  oauthClientNotVerified: text(
    () =>
      "The operator ended the verification of this OAuth client: it may ask only users of your account for consent. Consents that were given stay.",
  ),

  // Regions, plans, engines, invoices.
  regionUnknown: text((given: Id) => unknown("region", given, "region list"), { id: "eu-central" }),
  regionInvalid: text(({ known }: { known: readonly string[] }) => known.join(", "), {
    known: ["eu-central", "us-east"],
  }),
  noRegions: text(
    () => "the id of a region, but this installation has none yet. Create one: moorage admin region create --help",
  ),
  planUnknown: text((given: Id) => unknown("plan", given, "plan list"), { id: "m1-small" }),
  planInvalid: text(
    ({ id }: { id: string }) => `the id of a plan; no plan has the id ${id}. See: moorage admin plan list`,
    {
      id: "m1-small",
    },
  ),
  planSizeFixed: text(
    ({ id, memoryMb, diskMb, vcpus }: { id: string; memoryMb: number; diskMb: number; vcpus: number }) =>
      `The size of plan ${id} cannot change: it has ${memoryMb} MB of memory, ${diskMb} MB of disk and ${vcpus} processors. Create a new plan, and set plan ${id} to deprecated.`,
    { id: "m1-small", memoryMb: 1024, diskMb: 10_240, vcpus: 1 },
  ),
  engineVersionUnknown: text((given: Id) => unknown("engine version", given, "engine list"), { id: "mysql/9.7.4" }),
  invoiceUnknown: text((given: Id) => unknown("invoice", given, "invoice list"), { id: 7 }),

  // Hosts and databases.
  hostUnknown: text((given: Id) => unknown("host", given, "host list"), { id: 7 }),
  hostNotOfPath: text(({ id }: Id) => `${id}, the host in the path`, { id: 7 }),
  hostInvalid: text(
    ({ name }: { name: string }) => `the name of a host; no host is called ${name}. See: moorage admin host list`,
    {
      name: "host-2",
    },
  ),
  hostInOtherRegion: text(
    ({ name, region, actual }: { name: string; region: string; actual: string }) =>
      `a host of the region ${region}; ${name} is in ${actual}`,
    { name: "host-2", region: "eu-central", actual: "us-east" },
  ),
  addressTaken: text(({ host }: { host: string }) => `one that no other host has; ${host} has this one`, {
    host: "host-2",
  }),
  databaseUnknown: text(({ id }: Id) => `No database has the id ${id}. See: moorage admin db list`, { id: 7 }),
  recoveryNotNeeded: text(
    () =>
      "There is nothing to plan: the database was not set back, and all hosts agree with it. A plan refuses changes of tenants until a recovery has run. To compare all hosts anyway, run moorage admin recover without --plan.",
  ),
  digestsMissing: text(
    ({ hosts }: { hosts: readonly string[] }) =>
      `The recovery is not complete: no report yet from ${hosts.join(", ")}. Run moorage admin recover again when these hosts are back, or exclude lost hosts with --without.`,
    { hosts: ["host-2", "host-3"] },
  ),

  // Compute instances, disks, maintenance, images.
  computeUnknown: text((given: Id) => unknown("compute instance", given, "compute list"), { id: 7 }),
  diskUnknown: text((given: Id) => unknown("disk", given, "disk list <compute>"), { id: 7 }),
  maintenanceUnknown: text((given: Id) => unknown("maintenance", given, "maintenance list --all"), { id: 7 }),
  maintenanceStarted: text(
    ({ type, label, id }: Id & { type: string; label: string }) =>
      `A ${type} of ${label} (${id}) has started. Complete or cancel it first. See: moorage admin maintenance list`,
    { type: "reboot", label: "web", id: 7 },
  ),
  imageUnknown: text((given: Id) => unknown("image", given, "image list"), { id: "private/7" }),
  imageNotDeployable: text(({ id }: Id) => `No available image has the id ${id}. See: moorage admin image list`, {
    id: "private/7",
  }),
  noImageServer: text(
    () =>
      "This installation has no image server: MOORAGE_IMAGE_SERVER_URL and MOORAGE_IMAGE_SERVER_KEY are not set for the api process. Set both first.",
  ),
});
