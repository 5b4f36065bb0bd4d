import { Command } from "commander";
import { accountCommands } from "./account-commands.ts";
import { catalogueCommands } from "./catalogue-commands.ts";
import { computeCommands } from "./compute-commands.ts";
import { databaseCommands } from "./database-commands.ts";
import { hostCommands } from "./host-commands.ts";
import { imageCommands } from "./image-commands.ts";
import { invoiceCommands } from "./invoice-commands.ts";
import { maintenanceCommands } from "./maintenance-commands.ts";
import { oauthClientCommands } from "./oauth-client-commands.ts";
import type { Output } from "./output.ts";
import { paymentCommands } from "./payment-commands.ts";
import { creditCommands } from "./credit-commands.ts";
import { recoverCommand } from "./recover-command.ts";
import { taxCommands } from "./tax-commands.ts";
import { tokenCommands } from "./token-commands.ts";
import { userCommands } from "./user-commands.ts";

/** All operator commands can be repeated safely, and all are recorded in the audit log. */
export function operatorCommands(output: Output): Command {
  const root = new Command();
  catalogueCommands(root, output);
  hostCommands(root, output);
  databaseCommands(root, output);
  computeCommands(root, output);
  imageCommands(root, output);
  maintenanceCommands(root, output);
  accountCommands(root, output);
  creditCommands(root, output);
  taxCommands(root, output);
  invoiceCommands(root, output);
  paymentCommands(root, output);
  userCommands(root, output);
  tokenCommands(root, output);
  oauthClientCommands(root, output);
  recoverCommand(root, output);
  return root;
}
