import { Command, CommanderError, Option } from "commander";
import { completionCommand } from "./completion/completion-command.ts";
import { adminClient } from "./environment.ts";
import { add, merge } from "./merge-commands.ts";
import { nextStep } from "./next-step.ts";
import { operatorCommands } from "./operator-commands.ts";
import { createOutput } from "./output.ts";
import { clientOf } from "./profiles/connection.ts";
import { profileCommands } from "./profiles/profile-commands.ts";
import { inWords } from "./refusal.ts";
import { tenantNextStep } from "./tenant/next-step.ts";
import { tenantCommands } from "./tenant/tenant-commands.ts";
import type { Terminal } from "./terminal.ts";

export type { Terminal } from "./terminal.ts";

/** The whole command line, from arguments to exit code. */
export async function moorage(args: readonly string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const { program, isOperator, profileName } = build(args, terminal, (ended) => {
    code = ended;
  });
  try {
    if (args.length > 0) await program.parseAsync(args, { from: "user" });
    else {
      terminal.print(program.helpInformation());
      const next = isOperator ? await nextStep(adminClient()) : await tenantNextStep(terminal.env, profileName());
      terminal.print(`Next: ${next}`);
    }
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    const words = inWords(error);
    if (words === undefined) throw error;
    terminal.printError(words);
    return 1;
  }
}

function build(args: readonly string[], terminal: Terminal, endWith: (code: number) => void) {
  const program = new Command("moorage")
    .description("Managed MySQL, from the terminal: for tenants, and for those who run it.")
    .option("--json", "answer for programs")
    .option("--profile <name>", "whose URL and token to use: see moorage profile list")
    .addOption(
      new Option("--as <side>", "whose command, where both have one of a name").choices(["tenant", "operator"]),
    )
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.printError(text.trimEnd()),
    })
    .helpCommand(false)
    .showHelpAfterError()
    .exitOverride();
  const output = createOutput(program, terminal.print);
  const profileName = (): string | undefined => program.opts<{ profile?: string }>().profile;
  const client = () => clientOf(terminal.env, profileName(), (line) => terminal.printError(line));

  const tenant = { heading: "As a tenant:", root: tenantCommands({ terminal, output, client }, endWith) };
  const isOperator = sideOf(args, terminal) === "operator";
  const operator = { heading: "As the operator:", root: operatorCommands(output), isHidden: !isOperator };
  const hidden = merge(program, isOperator ? [operator, tenant] : [tenant, operator]);
  const here = [...profileCommands({ terminal, output, profileName }), completionCommand(program, terminal)];
  for (const command of here) add(program, command, { heading: "This program:" });
  program.addHelpText(
    "after",
    isOperator
      ? `\nBoth sides have: ${hidden.join(", ")}. You get those of the operator; the tenant's with --as tenant.`
      : "\nFor those who run an installation: moorage --as operator --help",
  );
  return { program, isOperator, profileName };
}

/** Read before commander parses anything: the set of commands depends on it. */
function sideOf(args: readonly string[], { env }: Terminal): string {
  const flag = args.findIndex((arg) => arg === "--as" || arg.startsWith("--as="));
  const chosen = flag === -1 ? undefined : (args[flag]?.split("=")[1] ?? args[flag + 1]);
  return chosen ?? (env["MOORAGE_OPERATOR_TOKEN"] ? "operator" : "tenant");
}
