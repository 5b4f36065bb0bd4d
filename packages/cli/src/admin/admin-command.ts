import type { OperatorOperation } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import type { z } from "zod";
import type { Output, Row } from "../output.ts";
import { Refused } from "../refused.ts";
import type { Terminal } from "../terminal.ts";
import { type Field, fieldsOf, gather, keyOf, missingFrom } from "../tenant/body-field.ts";
import { rowOf } from "../tenant/tables.ts";
import { texts } from "../tenant/texts.ts";
import type { AdminClient } from "./admin-client.ts";

export type AdminDeps = {
  output: Output;
  env: Readonly<Record<string, string | undefined>>;
  progress: Terminal["progress"];
  /** Created when the first request is sent, so that a help text needs no settings. */
  client: () => AdminClient;
};

type Typed = Readonly<Record<string, string>>;
type Item<O extends OperatorOperation> = z.output<O["reply"]> extends { data: (infer Each)[] } ? Each : never;

/** How an operation is typed, and how its reply is printed. Arguments and options come from the contract. */
export type AdminCommand<O extends OperatorOperation = OperatorOperation> = {
  /** The words after `moorage admin`, such as `host add`. */
  words: string;
  operation: O;
  /** What the command does, if it is not all that the operation does. */
  summary?: string;
  /** Fields of the body that are arguments, after the parameters of the path. */
  arguments?: readonly string[];
  /** Names of options, by field. Without one, an option has the last part of its field's name. */
  options?: Readonly<Record<string, string>>;
  /** Optional fields of the body that the command requires. */
  required?: readonly string[];
  /** Fields of the body that the command sets. */
  sets?: object;
  /** Fields of the body that have these values unless an option is typed. */
  presets?: Readonly<Record<string, unknown>>;
  /** Whether something must be named, although each field is optional. */
  changes?: true;
} & (
  | {
      /** Fields in columns, or cells computed from an item. */
      list: readonly string[] | ((item: Item<O>) => Row);
      empty: Text | ((typed: Typed) => Text);
    }
  /** The sentences after the command. May refuse, if the reply means that something is wrong. */
  | { print: (reply: z.output<O["reply"]>, typed: Typed) => Text | string }
);

/** Checks the functions against the operation, which a table of commands cannot. */
export const define = <const O extends OperatorOperation>(command: AdminCommand<O>): AdminCommand =>
  command as unknown as AdminCommand;

/** Turns an operation of the operator into a command. */
export function adminCommand(given: AdminCommand, deps: AdminDeps): Command {
  const { operation, words, summary } = given;
  const inputs = inputsOf(given);
  const command = new Command(words.split(" ").at(-1)).description(summary ?? descriptionOf(operation));
  for (const { name, isRequired } of inputs.arguments)
    command.addArgument(new Argument(isRequired ? `<${name}>` : `[${name}]`));
  for (const option of inputs.options.map(optionOf)) command.addOption(option);
  command.action(async () => {
    const typed = Object.fromEntries(inputs.arguments.map(({ key }, index) => [key, command.args[index] ?? ""]));
    const named = Object.fromEntries(Object.entries(typed).filter(([, value]) => value !== ""));
    const input = inputOf(given, inputs, { ...command.opts(), ...named });
    if ("list" in given) {
      const found = await deps.client().all(operation, input);
      const row = typeof given.list === "function" ? (given.list as (item: unknown) => Row) : rowOf(given.list);
      deps.output.list(found, row, typeof given.empty === "function" ? given.empty(typed) : given.empty);
    } else {
      const reply = await deps.client().call(operation, input);
      deps.output.printResult(reply, given.print(reply, typed));
    }
  });
  return command;
}

const descriptionOf = ({ summary, note }: OperatorOperation): string =>
  note === undefined ? summary : `${summary}. ${note}`;

type Given = Readonly<Record<string, unknown>>;
type Inputs = {
  arguments: { name: string; key: string; isRequired: boolean }[];
  params: string[];
  body: Field[];
  query: Field[];
  options: Field[];
};

function inputsOf({
  operation,
  arguments: positional = [],
  options: names = {},
  required = [],
  sets,
  presets = {},
}: AdminCommand): Inputs {
  const params = [...operation.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  const asOption = (field: Field): Field => {
    const path = field.path.join(".");
    const option = names[path] ?? field.path.at(-1) ?? "";
    return {
      ...field,
      option,
      isRequired: (field.isRequired && presets[path] === undefined) || required.includes(path),
    };
  };
  const body = operation.body === undefined ? [] : fieldsOf(operation.body).map(asOption);
  const query = operation.query === undefined ? [] : fieldsOf(operation.query).map(asOption);
  const isArgument = ({ path }: Field): boolean => positional.includes(path.join("."));
  const isSet = ({ path }: Field): boolean => sets !== undefined && Object.hasOwn(sets, path[0] ?? "");
  const fields = positional.flatMap((name) => body.find(({ path }) => path.join(".") === name) ?? []);
  return {
    arguments: [
      ...params.map((param) => ({ name: argumentName(param), key: param, isRequired: true })),
      ...fields.map((field) => ({ name: argumentName(keyOf(field)), key: keyOf(field), isRequired: field.isRequired })),
    ],
    params,
    body,
    query,
    options: [...body.filter((field) => !isArgument(field) && !isSet(field)), ...query],
  };
}

const argumentName = (key: string): string =>
  key.replace(/(?<=.)Id$/, "").replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** A flag, if there is one value that it can mean; else an option with a value. */
function optionOf(field: Field): Option {
  const { kind, choices, isRequired, preset, help } = field;
  const flag = `--${(field.option ?? "").replaceAll("_", "-")}`;
  const isShown = typeof preset === "number" || (typeof preset === "string" && preset !== "");
  const otherwise = isShown ? `(default: ${preset})` : "";
  const description = [help || choices.join(", "), isRequired ? "(required)" : otherwise].filter(Boolean).join(" ");
  if (kind === "boolean")
    return preset === true
      ? new Option(flag.replace("--", "--no-"), `do not ${description}`)
      : new Option(flag, description);
  if (choices.length === 1) return new Option(flag, description).preset(choices[0]);
  if (kind === "list") return new Option(`${flag} <text...>`, description);
  const option = new Option(`${flag} <${kind}>`, description);
  // Only for completion: the interface itself checks the value and explains a refusal.
  if (choices.length > 0) option.argChoices = [...choices];
  return kind === "number" ? option.argParser(numberOf) : option;
}

function numberOf(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number)) throw new InvalidArgumentError(texts.numberInvalid().text);
  return number;
}

function inputOf(
  { operation, sets = {}, presets = {}, changes }: AdminCommand,
  { params, body, query, options }: Inputs,
  given: Given,
): object {
  const whole = gather(body, given, { ...presets, ...sets });
  const missing = missingFrom(body, whole);
  if (missing.length > 0) throw new Refused(texts.optionsMissing({ options: missing.map(lineOf) }));
  if (changes === true && Object.keys(whole).length === 0)
    throw new Refused(texts.changeMissing({ options: options.map(lineOf) }));
  return {
    ...(params.length > 0 && { params: Object.fromEntries(params.map((name) => [name, given[name]])) }),
    ...(operation.body !== undefined && { body: whole }),
    ...(query.length > 0 && { query: gather(query, given, {}) }),
  };
}

const lineOf = ({ option = "", help, choices }: Field): string =>
  `  --${option.replaceAll("_", "-")}  ${help || choices.join(", ")}`;
