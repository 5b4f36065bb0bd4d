import { Command, CommanderError, Option } from "commander";
import { completionCommand } from "./completion/completion-command.ts";
import { adminClient } from "./environment.ts";
import { add, merge } from "./merge-commands.ts";
import { nextStep } from "./next-step.ts";
import { operatorCommands } from "./operator-commands.ts";
import { createOutput } from "./output.ts";
import { clientOf } from "./profiles/connection.ts";
import { profileCommands } from "./profiles/profile-commands.ts";
import { refusalOf } from "./refusal.ts";
import { tenantNextStep } from "./tenant/next-step.ts";
import { tenantCommands } from "./tenant/tenant-commands.ts";
import type { Terminal } from "./terminal.ts";
import { texts } from "./texts.ts";

export type { Terminal } from "./terminal.ts";

/** The whole command line, from arguments to exit code. */
export async function moorage(args: readonly string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const { program, output, isOperator, profileName } = build(args, terminal, (ended) => {
    code = ended;
  });
  try {
    if (args.length > 0) await program.parseAsync(args, { from: "user" });
    else {
      terminal.print(program.helpInformation());
      const next = isOperator ? await nextStep(adminClient()) : await tenantNextStep(terminal.env, profileName());
      terminal.print(texts.nextStep({ step: next.text }).text);
    }
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    const { sentences, errors } = refusal;
    terminal.printError(output.isForPrograms() ? JSON.stringify({ errors }) : sentences);
    return 1;
  }
}

function build(args: readonly string[], terminal: Terminal, endWith: (code: number) => void) {
  const program = new Command("moorage")
    .description("Manage MySQL databases: commands for tenants and for operators of an installation")
    .option("--json", "print results and errors as JSON")
    .option("--profile <name>", "profile with the URL and token to use; see moorage profile list")
    .addOption(new Option("--as <side>", "run the tenant's or the operator's command").choices(["tenant", "operator"]))
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

  const tenant = { heading: "Tenant commands:", root: tenantCommands({ terminal, output, client }, endWith) };
  const isOperator = sideOf(args, terminal) === "operator";
  const operator = { heading: "Operator commands:", root: operatorCommands(output), isHidden: !isOperator };
  const hidden = merge(program, isOperator ? [operator, tenant] : [tenant, operator]);
  const here = [...profileCommands({ terminal, output, profileName }), completionCommand(program, terminal)];
  for (const command of here) add(program, command, { heading: "Sign-in and shell completion:" });
  const help = isOperator ? texts.sameNameHelp({ commands: hidden }) : texts.operatorHelp();
  program.addHelpText("after", `\n${help.text}`);
  return { program, output, isOperator, profileName };
}

/** Read before commander parses anything: the set of commands depends on it. */
function sideOf(args: readonly string[], { env }: Terminal): string {
  const flag = args.findIndex((arg) => arg === "--as" || arg.startsWith("--as="));
  const chosen = flag === -1 ? undefined : (args[flag]?.split("=")[1] ?? args[flag + 1]);
  return chosen ?? (env["MOORAGE_OPERATOR_TOKEN"] ? "operator" : "tenant");
}
