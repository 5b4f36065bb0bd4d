import { Argument, Command } from "commander";
import type { Terminal } from "../terminal.ts";
import { nodesOf, scripts } from "./scripts.ts";

export const completionCommand = (program: Command, terminal: Terminal): Command =>
  new Command("completion")
    .description("Print a completion script for your shell. A comment at its beginning shows how to install it.")
    .addArgument(new Argument("<shell>").choices(Object.keys(scripts)))
    .action((shell: keyof typeof scripts) => terminal.print(scripts[shell](nodesOf(program))));
