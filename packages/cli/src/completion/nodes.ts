import type { Command } from "commander";

/** A command for shell completion: its path, and what can follow it. */
export type Node = {
  /** `/db/backup`; empty for the program itself. */
  path: string;
  next: { name: string; help: string }[];
  flags: { flag: string; help: string; takesValue: boolean; choices: readonly string[] }[];
};

export function nodesOf(program: Command): Node[] {
  const visit = (command: Command, path: string): Node[] => {
    const help = command.createHelp();
    const inner = help.visibleCommands(command).filter((one) => one.name() !== "help");
    const options = [...help.visibleOptions(command), ...(command === program ? [] : program.options)];
    const node: Node = {
      path,
      next: inner.map((one) => ({ name: one.name(), help: firstSentence(one.description()) })),
      flags: options.map((option) => ({
        flag: option.long ?? "",
        help: firstSentence(option.description),
        takesValue: option.required || option.optional,
        choices: option.argChoices ?? [],
      })),
    };
    return [node, ...inner.flatMap((one) => visit(one, `${path}/${one.name()}`))];
  };
  return visit(program, "");
}

const firstSentence = (text: string): string => (/^.*?(?=\. |\n|$)/.exec(text)?.[0] ?? "").slice(0, 80);
