import { Command } from "commander";

/** `isHidden`: the commands work, but no help text lists them. */
export type Side = { heading: string; root: Command; isHidden?: boolean };

/**
 * Merges the commands of both sides into one program, group by group. Where both have a command of the same name, the
 * first side's is used; the names of the others are returned.
 */
export function merge(program: Command, [first, second]: readonly [Side, Side]): string[] {
  const hidden: string[] = [];
  const names = new Set([...first.root.commands, ...second.root.commands].map((command) => command.name()));
  for (const name of names) {
    const mine = named(first.root, name);
    const theirs = named(second.root, name);
    if (mine === undefined || theirs === undefined) add(program, mine ?? theirs, mine === undefined ? second : first);
    else if (isGroup(mine) && isGroup(theirs)) {
      const isOne = second.isHidden === true;
      const heading = isOne ? first.heading : "Tenant and operator commands:";
      const group = program.command(name).helpCommand(false).helpGroup(heading);
      group.description(isOne ? mine.description() : `${mine.description()}. ${theirs.description()}`);
      const inner = merge(group, [
        { ...first, root: mine },
        { ...second, root: theirs },
      ]);
      hidden.push(...inner.map((rest) => `${name} ${rest}`));
    } else {
      add(program, mine, first);
      hidden.push(name);
    }
  }
  return hidden;
}

const named = (root: Command, name: string): Command | undefined =>
  root.commands.find((command) => command.name() === name);

const isGroup = (command: Command): boolean => command.commands.length > 0;

export function add(program: Command, command: Command | undefined, side: Omit<Side, "root">): void {
  if (command === undefined) return;
  program.addCommand(command.helpGroup(side.heading), { hidden: side.isHidden === true });
  inherit(program, command);
}

/** What commander does itself for commands that are created with `.command()`. */
function inherit(from: Command, command: Command): void {
  command.copyInheritedSettings(from).helpCommand(false);
  for (const inner of command.commands) inherit(command, inner);
}
