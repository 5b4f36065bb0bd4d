import { Command } from "commander";
import { Refused } from "../admin-client.ts";
import { hostCommands } from "../host-commands.ts";
import { recoverCommand } from "../recover-command.ts";

const program = new Command("moorage")
  .description("The operator's command line of Moorage. Start with: moorage host list")
  .showHelpAfterError();
hostCommands(program);
recoverCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
