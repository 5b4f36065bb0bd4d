import { writeFileSync } from "node:fs";
import type { Client, Waiting } from "@moorage/client";
import type { Event, Operation } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { Argument, Command, Option } from "commander";
import { z } from "zod";
import { type Output, type Row, tableOf } from "../output.ts";
import { Refused } from "../refused.ts";
import type { Terminal } from "../terminal.ts";
import { fieldsOf, optionOf, wholeNumber } from "./body-field.ts";
import type { CommandName } from "./command-name.ts";
import { confirm, needsConfirmation } from "./confirm.ts";
import { FILTER_HELP, filterOf } from "./filter-option.ts";
import { freshOf } from "./fresh.ts";
import { collectionOf, idOf } from "./named-object.ts";
import { bodyOf, fileOf, isSecret, queryOf } from "./operation-input.ts";
import { chosenColumns, columnsOf, linesOf, rowOf, rowsOfList, rowsOfObject } from "./tables.ts";
import { texts } from "./texts.ts";

const EVERY_MS = 1_000;

const columnsOption = new Option("--columns <fields>", "fields to show, such as id,label,hosts.primary");

export type TenantDeps = {
  terminal: Terminal;
  output: Output;
  names: ReadonlyMap<Operation, CommandName>;
  /** Signs in on the first request, so that a help text needs no login. */
  client: () => Promise<Client>;
};
type Given = Readonly<Record<string, unknown>>;

type Input = { params: Record<string, unknown>; query?: object; filter?: object; body?: object };

/** Turns any operation of the contract into a command: path parameters become arguments, body fields options. */
export function operationCommand(operation: Operation, name: CommandName, deps: TenantDeps): Command {
  const command = new Command(name.words.at(-1)).description(descriptionOf(operation));
  for (const param of name.params) command.addArgument(argumentOf(operation, param, deps));
  for (const option of optionsOf(operation)) command.addOption(option);
  command.action(async () => {
    const given = command.opts<Given>();
    // Errors in the input are reported before a login is required.
    const input = await inputOf(operation, given, deps.terminal);
    const columns = chosenColumns(operation, given["columns"]);
    const client = await deps.client();
    const params = await paramsOf(client, operation, name, command.args, deps);
    if (given["yes"] !== true) await confirm(client, operation, params, deps.terminal);
    const work = operation.paged === true ? list : call;
    await work(client, operation, { ...input, params }, { ...given, columns }, deps);
  });
  return command;
}

const descriptionOf = ({ summary, note }: Operation): string => (note === undefined ? summary : `${summary}. ${note}`);

function argumentOf(operation: Operation, param: string, { names }: TenantDeps): Argument {
  const isNamed = collectionOf(operation, param, [...names.keys()]) !== undefined;
  const argument = new Argument(`<${argumentName(param)}>`, isNamed ? "label or id" : "");
  const field = operation.params?.shape[param];
  return field instanceof z.ZodEnum ? argument.choices(field.options as string[]) : argument;
}

const argumentName = (param: string): string =>
  param.replace(/Id$/, "").replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function optionsOf(operation: Operation): Option[] {
  const { method, body, query, paged, upload, download, emits, filterable, fixed = [] } = operation;
  const fields = [...(body === undefined ? [] : fieldsOf(body)), ...(query === undefined ? [] : fieldsOf(query))];
  const isShow = method === "GET" && paged !== true && download === undefined;
  return [
    ...fields.filter((field) => !isSecret(field) && !fixed.includes(field.path[0] ?? "")).map(optionOf),
    ...(body === undefined ? [] : [new Option("--body <json>", "whole body as JSON, @file, or - for standard input")]),
    ...(paged === true ? listOptions(operation, Object.keys(filterable ?? {})) : []),
    ...(upload === undefined ? [] : [new Option("--file <path>", upload.types.join(", ")).makeOptionMandatory()]),
    ...(download === undefined ? [] : [new Option("--output <path>", "file to write to (default: standard output)")]),
    ...(emits === undefined ? [] : [new Option("--wait", "wait until the operation ends")]),
    ...(isShow ? [columnsOption] : []),
    ...(needsConfirmation(operation) ? [new Option("--yes", "do not ask for confirmation")] : []),
  ];
}

function listOptions({ unorderable = [] }: Operation, fields: readonly string[]): Option[] {
  const order = fields.filter((field) => !unorderable.includes(field));
  const filters = [
    new Option("--filter <expression>", FILTER_HELP).argParser((text, before: unknown) => [
      ...(Array.isArray(before) ? (before as string[]) : []),
      text,
    ]),
    new Option("--order-by <field>", "field to sort by").choices(order),
    new Option("--order <direction>", "ascending or descending").choices(["asc", "desc"]),
  ];
  return [
    ...(fields.length === 0 ? [] : filters),
    new Option("--limit <n>", "maximum number of items").argParser(wholeNumber),
    columnsOption,
  ];
}

async function inputOf(operation: Operation, given: Given, terminal: Terminal): Promise<Omit<Input, "params">> {
  const filter = filterOf(operation, given);
  const [body, query, file] = [
    await bodyOf(operation, given, terminal),
    queryOf(operation, given),
    fileOf(operation, given),
  ];
  return { ...(filter && { filter }), ...(body && { body }), ...(query && { query }), ...(file && { file }) };
}

async function paramsOf(
  client: Client,
  operation: Operation,
  { params }: CommandName,
  typedArguments: readonly string[],
  { names }: TenantDeps,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [index, param] of params.entries()) {
    const value = typedArguments[index] ?? "";
    const collection = collectionOf(operation, param, [...names.keys()]);
    const listCommand = collection === undefined ? "" : `moorage ${names.get(collection)?.words.join(" ")}`;
    found[param] =
      collection === undefined ? value : await idOf(client, collection, value, { listCommand, params: { ...found } });
  }
  return found;
}

async function list(client: Client, operation: Operation, input: Input, given: Given, deps: TenantDeps): Promise<void> {
  const limit = (given["limit"] as number | undefined) ?? Number.POSITIVE_INFINITY;
  const page_size = Math.min(Math.max(limit, 25), 500);
  const found: unknown[] = [];
  if (limit > 0)
    for await (const item of client.items(operation as never, { ...input, query: { page_size } } as never)) {
      found.push(item);
      if (found.length >= limit) break;
    }
  const chosen = given["columns"] as string[] | undefined;
  const own = chosen === undefined ? (rowsOfList[operation.id] as ((item: unknown) => Row) | undefined) : undefined;
  deps.output.list(found, own ?? rowOf(chosen ?? columnsOf(operation)), whenEmpty(operation, input.filter, deps));
}

/** Suggests the command that creates the first item. */
function whenEmpty(operation: Operation, filter: object | undefined, { names }: TenantDeps): Text {
  if (filter !== undefined) return texts.noMatch();
  const create = [...names].find(([{ method, path }]) => method === "POST" && path === operation.path);
  return create === undefined ? texts.listEmpty() : texts.listEmptyCreate({ command: create[1].words.join(" ") });
}

async function call(client: Client, operation: Operation, input: Input, given: Given, deps: TenantDeps): Promise<void> {
  const reply: unknown =
    given["wait"] === true ? await andWait(client, operation, input, deps) : await client.call(operation, input);
  if (reply instanceof Uint8Array) return keepFile(reply, given, deps.terminal);
  const object = reply ?? {};
  deps.output.printResult(object, wordsOf(operation, object, given["columns"] as string[] | undefined));
}

async function andWait(
  client: Client,
  operation: Operation,
  input: Input,
  { terminal, names }: TenantDeps,
): Promise<unknown> {
  try {
    const { reply } = await client.callAndWait(operation as never, input as never, progressIn(terminal));
    return await freshOf(client, operation, [...names.keys()], input, reply);
  } finally {
    terminal.progress(undefined);
  }
}

/** Shows the progress of an event while waiting for it. */
const progressIn = ({ progress, env }: Terminal): Waiting => ({
  everyMs: Number(env["MOORAGE_POLL_MS"] ?? EVERY_MS),
  onProgress: (event) => progress(lineOf(event)),
});

const lineOf = ({ action, percent_complete, message }: Event): string =>
  texts.progress({ action, percent: percent_complete, message: message ?? "" }).text;

function keepFile(bytes: Uint8Array, { output }: Given, terminal: Terminal): void {
  if (typeof output !== "string") return terminal.write(bytes);
  try {
    writeFileSync(output, bytes);
  } catch (error) {
    throw new Refused(texts.fileUnwritable({ path: output, reason: String((error as NodeJS.ErrnoException).code) }));
  }
  terminal.printError(texts.downloaded({ bytes: bytes.length, path: output }).text);
}

function wordsOf({ id }: Operation, object: object, columns: readonly string[] | undefined): string {
  if (columns !== undefined) return linesOf(rowOf(columns)(object));
  const rows = (rowsOfObject[id] as ((object: unknown) => Row[]) | undefined)?.(object);
  if (rows !== undefined) return rows.length === 0 ? texts.noMeasurements().text : tableOf(rows);
  return Object.keys(object).length === 0 ? texts.done().text : linesOf(object);
}
