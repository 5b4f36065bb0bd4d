import { releaseText } from "@moorage/contract/process";
import type { Text } from "@moorage/contract/texts";
import { Command, CommanderError } from "commander";
import { createAdminClient } from "../admin/admin-client.ts";
import { adminCommands } from "../admin/admin-commands.ts";
import { nextStep } from "../admin/next-step.ts";
import { completionCommand } from "../completion/completion-command.ts";
import { connectCommand } from "../connect/connect-command.ts";
import { loginCommand } from "../login/login-command.ts";
import { logoutCommand } from "../login/logout-command.ts";
import { createOutput } from "../output.ts";
import { clientOf } from "../profiles/connection.ts";
import { profileCommand } from "../profiles/profile-commands.ts";
import { refusalOf } from "./refusal.ts";
import { tenantNextStep } from "../tenant/next-step.ts";
import type { TenantDeps } from "../tenant/operation-command.ts";
import { tenantCommands } from "../tenant/tenant-commands.ts";
import type { Terminal } from "../terminal.ts";
import { texts } from "../texts.ts";

export type { Terminal } from "../terminal.ts";

/** The whole command line, from arguments to exit code. */
export async function moorage(args: readonly string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const { program, admin, output, profileName } = build(terminal, (ended) => {
    code = ended;
  });
  const printNext = ({ text: step }: Text): void => terminal.print(texts.nextStep({ step }).text);
  try {
    if (args.length === 0) {
      terminal.print(program.helpInformation());
      printNext(await tenantNextStep(terminal.env, profileName()));
    } else if (args.length === 1 && args[0] === admin.name()) {
      terminal.print(admin.helpInformation());
      printNext(await nextStep(createAdminClient(terminal.env)));
    } else await program.parseAsync(args, { from: "user" });
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

function build(terminal: Terminal, endWith: (code: number) => void) {
  const program = new Command("moorage")
    .description("Manage MySQL databases")
    .version(`moorage ${releaseText}`, "--version", "print the version and the commit")
    .option("--json", "print results and errors as JSON")
    .option("--profile <name>", "profile with the URL and token to use; see moorage profile list")
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

  const connect = (deps: TenantDeps): Command => connectCommand(deps, endWith);
  const tenant = tenantCommands({ terminal, output, client }, connect);
  const local = { terminal, output, profileName };
  const here = [loginCommand(local), logoutCommand(local), profileCommand(local), completionCommand(program, terminal)];
  const admin = adminCommands({
    output,
    env: terminal.env,
    progress: terminal.progress,
    client: () => createAdminClient(terminal.env),
  });
  for (const command of tenant.commands) add(program, command, "Commands:");
  for (const command of here) add(program, command, "Sign-in and shell completion:");
  add(program, admin, "For operators of an installation:");
  return { program, admin, output, profileName };
}

function add(program: Command, command: Command, heading: string): void {
  program.addCommand(command.helpGroup(heading));
  inherit(program, command);
}

/** What commander does itself for commands that are created with `.command()`. */
function inherit(from: Command, command: Command): void {
  command.copyInheritedSettings(from).helpCommand(false);
  for (const inner of command.commands) inherit(command, inner);
}
