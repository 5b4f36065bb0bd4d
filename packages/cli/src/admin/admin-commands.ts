import { Command } from "commander";
import { accountCommands, availabilityCommand } from "./accounts.ts";
import { adminCommand, type AdminDeps } from "./admin-command.ts";
import { verifyCommand } from "./audit.ts";
import { billingCommands } from "./billing.ts";
import { catalogueCommands, outageCommand } from "./catalogue.ts";
import { computeCommands } from "./computes.ts";
import { databaseCommands, databaseListCommand } from "./databases.ts";
import { allowDeletionsCommand, hostCommands } from "./hosts.ts";
import { imageCommands, imageLimitsCommand } from "./images.ts";
import { keyRotateCommand, keyStatusCommand } from "./keys.ts";
import { oauthClientCommands, trustCommand } from "./oauth-clients.ts";
import { setGrantsCommand, userCommands } from "./users.ts";

const groups: Readonly<Record<string, string>> = {
  region: "Manage regions, the locations of hosts",
  plan: "Manage plans, the sizes and prices of database nodes",
  engine: "Manage the MySQL versions that tenants can choose",
  host: "Manage the hosts, the machines that run database nodes",
  db: "Manage the databases of all tenants",
  compute: "Manage records of compute instances, which run elsewhere",
  disk: "Manage the records of the disks of compute instances",
  image: "Manage machine images, public ones and those of accounts",
  maintenance: "Manage the maintenance of compute instances",
  account: "Manage accounts, their limits and their capabilities",
  credit: "Manage the credits of accounts",
  tax: "Manage the taxes on invoices by country and state",
  invoice: "Show and correct invoices",
  ledger: "Check the ledger",
  audit: "Verify the audit and the money records",
  keys: "Replace keys of the key ring, which encrypt what is stored",
  charge: "Show charges, the attempts to collect money",
  payment: "Show payments received",
  user: "Manage the users of accounts",
  token: "Manage the API tokens of users",
  "oauth-client": "Manage the OAuth clients that accounts have registered",
};

/** Commands that are one call each. */
const calls = [
  ...catalogueCommands,
  ...hostCommands,
  ...databaseCommands,
  ...computeCommands,
  ...imageCommands,
  ...accountCommands,
  ...billingCommands,
  ...userCommands,
  ...oauthClientCommands,
];

/** All operator commands can be repeated safely, and all are recorded in the audit log. */
export function adminCommands(deps: AdminDeps): Command {
  const admin = new Command("admin").description(
    "Manage an installation, as its operator: hosts, plans, accounts, bills",
  );
  for (const [name, description] of Object.entries(groups)) admin.command(name).description(description);
  const group = (words: readonly string[]): Command =>
    words.reduce((above, word) => above.commands.find((one) => one.name() === word) ?? above.command(word), admin);
  for (const call of calls) group(call.words.split(" ").slice(0, -1)).addCommand(adminCommand(call, deps));
  group(["region"]).addCommand(outageCommand(deps));
  group(["audit"]).addCommand(verifyCommand(deps));
  group(["keys"]).addCommand(keyStatusCommand(deps)).addCommand(keyRotateCommand(deps));
  group(["host"]).addCommand(allowDeletionsCommand(deps));
  group(["db"]).addCommand(databaseListCommand(deps));
  group(["image"]).addCommand(imageLimitsCommand(deps));
  group(["account"]).addCommand(availabilityCommand(deps));
  group(["user", "grants"]).description("Manage the grants of a restricted user").addCommand(setGrantsCommand(deps));
  group(["oauth-client"]).addCommand(trustCommand(deps));
  return admin;
}
