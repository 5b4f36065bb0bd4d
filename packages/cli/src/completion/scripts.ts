import type { Command } from "commander";

/** A command for shell completion: its path, and what can follow it. */
type Node = {
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

/** The scripts contain complete tables, so that no process starts while somebody types. */
export const scripts = { bash, zsh, fish };

/** Options and their values are not part of the command's path. */
function bash(nodes: readonly Node[]): string {
  return `# moorage completion bash: eval "$(moorage completion bash)"
_moorage() {
  local at= word next= flags= values=
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at/$word" in ${paths(nodes)}) at="$at/$word" ;; esac
  done
  case "$at" in
${lines(nodes.map((node) => `    ${quoted(node.path)}) next=${quoted(names(node))} flags=${quoted(flags(node))} ;;`))}
  esac
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in
${lines(nodes.flatMap((node) => choicesOf(node).map(({ flag, choices }) => `    ${quoted(`${node.path} ${flag}`)}) values=${quoted(choices.join(" "))} ;;`)))}
  esac
  local cur=\${COMP_WORDS[COMP_CWORD]}
  if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$cur"))
  elif [ "\${cur:0:1}" = - ]; then COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  else COMPREPLY=($(compgen -W "$next" -- "$cur")); fi
}
complete -o default -F _moorage moorage`;
}

function zsh(nodes: readonly Node[]): string {
  const described = (pairs: { name: string; help: string }[]): string =>
    pairs.map(({ name, help }) => quoted(`${name.replaceAll(":", "\\:")}:${help}`)).join(" ");
  const options = ({ flags: all }: Node) => described(all.map(({ flag, help }) => ({ name: flag, help })));
  return `#compdef moorage
# moorage completion zsh > "\${fpath[1]}/_moorage"
_moorage() {
  local at= word
  local -a next options values
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at/$word" in ${paths(nodes)}) at="$at/$word" ;; esac
  done
  case "$at" in
${lines(nodes.map((node) => `    ${quoted(node.path)}) next=(${described(node.next)}) options=(${options(node)}) ;;`))}
  esac
  case "$at \${words[CURRENT-1]}" in
${lines(nodes.flatMap((node) => choicesOf(node).map(({ flag, choices }) => `    ${quoted(`${node.path} ${flag}`)}) values=(${choices.map(quoted).join(" ")}) ;;`)))}
  esac
  if (( $#values )); then compadd -a values
  elif [[ "\${words[CURRENT]}" == -* ]]; then _describe option options
  elif (( $#next )); then _describe command next
  else _files; fi
}
if [ "$funcstack[1]" = _moorage ]; then _moorage "$@"; else compdef _moorage moorage; fi`;
}

function fish(nodes: readonly Node[]): string {
  const here = (node: Node): string => `complete -c moorage -n "test (__moorage_at) = ${quoted(node.path || "/")}"`;
  const known = nodes.filter(({ path }) => path !== "").map(({ path }) => path);
  const option = (node: Node, { flag, help, takesValue, choices }: Node["flags"][number]): string =>
    [
      `${here(node)} -l ${flag.slice(2)}${takesValue ? " -r" : ""} -d ${quoted(help)}`,
      choices.length > 0 ? ` -f -a ${quoted(choices.join(" "))}` : "",
    ].join("");
  return `# moorage completion fish > ~/.config/fish/completions/moorage.fish
set -g __moorage_paths ${known.join(" ")}
function __moorage_at
    set -l at
    for word in (commandline -opc)[2..-1]
        contains -- "$at/$word" $__moorage_paths; and set at "$at/$word"
    end
    test -n "$at"; and echo $at; or echo /
end
${lines(
  nodes.flatMap((node) => [
    ...node.next.map(({ name, help }) => `${here(node)} -f -a ${name} -d ${quoted(help)}`),
    ...node.flags.map((one) => option(node, one)),
  ]),
)}`;
}

const paths = (nodes: readonly Node[]): string =>
  nodes
    .filter(({ path }) => path !== "")
    .map(({ path }) => path)
    .join("|");

const lines = (parts: readonly string[]): string => parts.join("\n");

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const names = (node: Node): string => node.next.map(({ name }) => name).join(" ");
const flags = (node: Node): string => node.flags.map(({ flag }) => flag).join(" ");
const choicesOf = (node: Node) => node.flags.filter(({ choices }) => choices.length > 0);
