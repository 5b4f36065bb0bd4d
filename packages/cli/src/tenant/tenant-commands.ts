import { operations } from "@moorage/contract";
import { Command } from "commander";
import { commandNames } from "./command-name.ts";
import { operationCommand, type TenantDeps } from "./operation-command.ts";

/** Every operation of the contract in groups, and the commands that combine several. */
export function tenantCommands(given: Omit<TenantDeps, "names">, connect: (deps: TenantDeps) => Command): Command {
  const deps = { ...given, names: commandNames(operations) };
  const root = new Command();
  const group = (words: readonly string[]): Command => words.reduce((above, word) => inside(above, word), root);
  for (const [operation, name] of deps.names)
    group(name.words.slice(0, -1)).addCommand(operationCommand(operation, name, deps), {
      hidden: operation.deprecated === true,
    });
  group(["db"]).addCommand(connect(deps));
  for (const command of root.commands) describe(command);
  return root;
}

const inside = (above: Command, word: string): Command =>
  above.commands.find((command) => command.name() === word) ?? above.command(word);

/** Describes a group by the commands in it. */
function describe(command: Command): void {
  if (command.commands.length === 0) return;
  command.description(`Commands: ${command.commands.map((inner) => inner.name()).join(", ")}`);
  for (const inner of command.commands) describe(inner);
}
