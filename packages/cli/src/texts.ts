import { defineTexts, text } from "@moorage/contract/texts";

const nodesIn = (count: number): string => `${count} ${count === 1 ? "node" : "nodes"}`;
type Database = { label: string; id: number; status: string };

/** Shared texts, and those of the operator's commands for hosts and databases. */
export const texts = defineTexts("cli", {
  nextStep: text(({ step }: { step: string }) => `Next: ${step}`, {
    step: "This installation has no host. Register one: moorage admin host add --help",
  }),
  // Refusals of the API, and connections to it.
  /** The control plane's own sentences. */
  apiRefused: text(({ reasons }: { reasons: readonly string[] }) => reasons.join("\n"), {
    reasons: ["No account has the id 7. See: moorage admin account list"],
  }),
  /** The client's own sentence. */
  apiUnreachable: text(({ message }: { message: string }) => message, {
    message: "https://api.example.com does not answer (ECONNREFUSED).",
  }),
  signInAgain: text(() => "Sign in again, or sign in with a token that has the required scopes: moorage login"),
  operationFailed: text(({ message }: { message: string }) => `The operation failed: ${message}`, {
    message: "No host has enough memory.",
  }),
  settingMissing: text(
    ({ name }: { name: string }) =>
      `${name} is not set. Operator commands require it. In the development stack, load it with: . .stack/env`,
    { name: "MOORAGE_ADMIN_URL" },
  ),
  adminUnreachable: text(
    ({ url, reason }: { url: string; reason: string }) =>
      `${url} does not answer (${reason}). Check MOORAGE_ADMIN_URL, and that the control plane is running. In the development stack: pnpm stack status`,
    { url: "http://127.0.0.1:4", reason: "ECONNREFUSED" },
  ),
  adminAnswerInvalid: text(
    ({ url, status }: { url: string; status: number }) =>
      `${url} answered with status ${status}, but not in the format of a control plane. Check MOORAGE_ADMIN_URL.`,
    { url: "http://127.0.0.1:4", status: 502 },
  ),
  operatorTokenInvalid: text(
    () => "The control plane does not accept the operator's token. Check MOORAGE_OPERATOR_TOKEN.",
  ),

  // Arguments and files.
  wholeNumberInvalid: text(() => "The value must be a whole number of at most 15 digits."),
  fileUnreadable: text(
    ({ path, reason }: { path: string; reason: string }) => `The file ${path} cannot be read (${reason}).`,
    { path: "/home/nia/body.json", reason: "ENOENT" },
  ),

  // Steps of setting up an installation. The lists print them too while they are empty.
  noRegions: text(() => "This installation has no region. Create one: moorage admin region create --help"),
  noPlans: text(() => "This installation has no plan. Create one: moorage admin plan create --help"),
  noEngineVersions: text(
    () => "This installation has no engine version. Create one: moorage admin engine create --help",
  ),
  noHosts: text(() => "This installation has no host. Register one: moorage admin host add --help"),
  noAccounts: text(() => "This installation has no account. Create one: moorage admin account create --help"),
  installationReady: text(
    () => "This installation is set up. To monitor it: moorage admin host list, moorage admin db list",
  ),

  // Hosts.
  hostRegistered: text(
    ({ name, id, token }: { name: string; id: number; token: string }) =>
      `Host ${name} (${id}) is registered. Enrol its agent with this one-time token within 24 hours:\n${token}`,
    { name: "host-1", id: 1, token: "0123456789abcdef" },
  ),
  hostEnrolled: text(
    ({ name, id }: { name: string; id: number }) =>
      `Host ${name} (${id}) was registered before and gets no new token. It keeps its memory, disk and addresses; only --address6 and --private-address are added if they were missing. For a new token: moorage admin host enrol-again ${name}`,
    { name: "host-1", id: 1 },
  ),
  hostRevoked: text(
    ({ name }: { name: string }) =>
      `The certificate of host ${name} is refused from now on. Its databases continue to run, and nothing about them can be changed until the host is enrolled again: moorage admin host enrol-again ${name}`,
    { name: "host-1" },
  ),
  hostToEnrolAgain: text(
    ({ name, token }: { name: string; token: string }) =>
      `The certificate of host ${name} is refused from now on. Its databases continue to run. On the host: stop the agent, write the token below to the file of MOORAGE_ENROL_TOKEN_FILE, remove host.key and host.pem from the folder MOORAGE_AGENT_DIR, and start the agent. The one-time token is valid for 24 hours:\n${token}`,
    { name: "host-1", token: "0123456789abcdef" },
  ),
  hostDead: text(
    ({ name, nodes }: { name: string; nodes: number }) =>
      `Host ${name} is dead. It held ${nodesIn(nodes)}. The control plane replaces the nodes of three-node databases, and restores databases of one node on other hosts from their archives. To follow it: moorage admin db list`,
    { name: "host-1", nodes: 4 },
  ),
  hostUnknown: text(
    ({ name, known }: { name: string; known: readonly string[] }) =>
      `No host is called ${name}. Known hosts: ${known.join(", ") || "none"}.`,
    { name: "host-9", known: ["host-1", "host-2"] },
  ),
  deletionsAllowed: text(
    ({ name, count, minutes }: { name: string; count: number; minutes: number }) =>
      `Host ${name} may perform ${count} more deletions and re-clones within ${minutes} minutes.`,
    { name: "host-1", count: 20, minutes: 60 },
  ),
  certificateShared: text(
    ({ name, addresses }: { name: string; addresses: readonly string[] }) =>
      `two addresses used its certificate in turn (${addresses.join(", ")}); if one of them is not this host's, revoke the certificate: moorage admin host enrol-again ${name}`,
    { name: "host-1", addresses: ["198.51.100.9", "203.0.113.7"] },
  ),
  deletionsHeld: text(
    ({ name, held }: { name: string; held: number }) =>
      `${held} held by the limit of deletions (moorage admin host allow-deletions ${name} --count ${held})`,
    { name: "host-1", held: 7 },
  ),

  // Databases.
  noDatabases: text(() => "This installation has no database. Tenants create databases: moorage db create"),
  noDeletedDatabases: text(() => "There is no deleted database that can be undeleted."),
  databaseUndeleted: text(
    ({ label, id, account, status, until }: Database & { account: number; until: string }) =>
      `Database ${label} (${id}) of account ${account} is ${status}, with its data of ${until} UTC, the same password and the same hostnames.\nGrants on the database are not restored. To grant restricted users access again: moorage admin user grants set --help`,
    { label: "orders", id: 1025, account: 7, status: "provisioning", until: "2026-01-31T12:00:00" },
  ),
  databaseNotDeleted: text(
    ({ label, id, status }: Database) => `Database ${label} (${id}) is not deleted. Its status is ${status}.`,
    { label: "orders", id: 1025, status: "active" },
  ),
  bootstrapWaits: text(
    ({ label, id, hosts }: { label: string; id: number; hosts: readonly string[] }) =>
      `Database ${label} (${id}) waits until these hosts report their transactions: ${hosts.join(", ")}. The node with the most transactions then bootstraps the group.`,
    { label: "orders", id: 1025, hosts: ["host-1", "host-2"] },
  ),
  bootstrapPrimary: text(
    ({ label, id, node }: { label: string; id: number; node: number }) =>
      `Node ${node} is the primary of database ${label} (${id}). It has no replica until another node follows it.`,
    { label: "orders", id: 1025, node: 2 },
  ),
  bootstrapLeftOut: text(
    ({ transactions }: { transactions: number }) =>
      `The database continues without ${transactions} transactions that its backups have. To get them, fork the database to an earlier time.`,
    { transactions: 3 },
  ),
  noLostTransactions: text(() => "No lost transactions of this database are stored. They are kept for 7 days."),

  // Recovery of the control plane. The headings are followed by one line for each database or node.
  recovered: text(
    ({ epoch, hosts, kept }: { epoch: number; hosts: number; kept: number }) =>
      `The recovery is complete. Epoch: ${epoch}. Hosts that reported: ${hosts}. Known nodes that continue to run: ${kept}.`,
    { epoch: 2, hosts: 3, kept: 12 },
  ),
  recoveryPlanned: text(
    ({ epoch, hosts, kept }: { epoch: number; hosts: number; kept: number }) =>
      `Nothing was changed yet; changes of tenants are refused until the recovery has run. It will begin epoch ${epoch}. Hosts that reported: ${hosts}. Known nodes that will continue to run: ${kept}. To carry it out, run the same command without --plan.`,
    { epoch: 2, hosts: 3, kept: 12 },
  ),
  recoveredAdopted: text(
    () => "These databases were created after the backup. They are adopted and have new passwords:",
  ),
  recoveredDeleted: text(() => "These databases were deleted after the backup. They are deleted:"),
  recoveredMissing: text(
    () => "The hosts of these databases do not have their nodes. Nothing was created instead. Restore the databases:",
  ),
  recoveredOrphans: text(
    () =>
      "The account or plan of these nodes is unknown, or they were replaced after the backup. They are left running:",
  ),
  recoveredRefused: text(
    () =>
      "The hosts of these nodes reported specs that the control plane had not sent to them. The reports were ignored; look at the hosts:",
  ),
});
