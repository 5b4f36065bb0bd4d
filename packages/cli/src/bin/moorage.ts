import { Command } from "commander";
import { accountCommands } from "../account-commands.ts";
import { Refused } from "../admin-client.ts";
import { catalogueCommands } from "../catalogue-commands.ts";
import { computeCommands } from "../compute-commands.ts";
import { databaseCommands } from "../database-commands.ts";
import { adminClient } from "../environment.ts";
import { hostCommands } from "../host-commands.ts";
import { imageCommands } from "../image-commands.ts";
import { invoiceCommands } from "../invoice-commands.ts";
import { maintenanceCommands } from "../maintenance-commands.ts";
import { nextStep } from "../next-step.ts";
import { createOutput } from "../output.ts";
import { oauthClientCommands } from "../oauth-client-commands.ts";
import { paymentCommands } from "../payment-commands.ts";
import { promotionCommands } from "../promotion-commands.ts";
import { recoverCommand } from "../recover-command.ts";
import { taxCommands } from "../tax-commands.ts";
import { tokenCommands } from "../token-commands.ts";
import { userCommands } from "../user-commands.ts";

const program = new Command("moorage")
  .description("The operator's command line of Moorage. Every command can be repeated, and is in the audit.")
  .option("--json", "answer for programs")
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError();
const output = createOutput(program);
catalogueCommands(program, output);
hostCommands(program, output);
databaseCommands(program, output);
computeCommands(program, output);
imageCommands(program, output);
maintenanceCommands(program, output);
accountCommands(program, output);
promotionCommands(program, output);
taxCommands(program, output);
invoiceCommands(program, output);
paymentCommands(program, output);
userCommands(program, output);
tokenCommands(program, output);
oauthClientCommands(program, output);
recoverCommand(program, output);

try {
  if (process.argv.length > 2) await program.parseAsync();
  else {
    console.log(program.helpInformation());
    console.log(`Next: ${await nextStep(adminClient())}`);
  }
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
