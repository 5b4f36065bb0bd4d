import { readFileSync } from "node:fs";
import { extname } from "node:path";
import type { AnyOperation } from "@moorage/contract";
import { Refused } from "../refused.ts";
import type { Terminal } from "../terminal.ts";
import { texts as shared } from "../texts.ts";
import { type Field, fieldsOf, flagOf, gather, missingFrom } from "./body-field.ts";
import { texts } from "./texts.ts";

/** Other users of a machine can see command lines, so these fields are only read from a file. */
const secrets = ["card_number", "cvv"];
export const isSecret = ({ path }: Field): boolean => secrets.includes(path.at(-1) ?? "");

/** The command that lists a field's valid values. */
const sources: Readonly<Record<string, string>> = {
  region: "moorage region list",
  type: "moorage db type list",
  engine: "moorage db engine list",
  disk_id: "moorage compute disk list <compute>",
};

type Given = Readonly<Record<string, unknown>>;

/** The body from `--body`, with the options on top. Undefined: the operation has no body. */
export async function bodyOf(operation: AnyOperation, given: Given, terminal: Terminal): Promise<object | undefined> {
  if (operation.body === undefined) return undefined;
  const fields = fieldsOf(operation.body);
  const changeable = fields.filter(({ path }) => !operation.fixed?.includes(path[0] ?? ""));
  const body = gather(fields, given, await readBody(given["body"], terminal));
  const missing = missingFrom(fields, body);
  if (missing.length > 0) throw new Refused(texts.optionsMissing({ options: missing.map(needed) }));
  if (operation.method === "PUT" && Object.keys(body).length === 0)
    throw new Refused(
      fields.length === 0 ? texts.bodyMissing() : texts.changeMissing({ options: changeable.map(needed) }),
    );
  return body;
}

function needed(field: Field): string {
  const { path, help, choices } = field;
  const name = path.at(-1) ?? "";
  if (isSecret(field)) return texts.secretField({ field: path.join("."), valid: help }).text;
  const [flag, valid, command] = [flagOf(path), help || choices.join(", "), sources[name]];
  return command === undefined || path.length > 1
    ? `  ${flag}  ${valid}`
    : texts.fieldWithSource({ flag, valid, command }).text;
}

async function readBody(bodyOption: unknown, terminal: Terminal): Promise<object> {
  if (typeof bodyOption !== "string") return {};
  const text =
    bodyOption === "-"
      ? await terminal.input()
      : bodyOption.startsWith("@")
        ? contents(bodyOption.slice(1))
        : bodyOption;
  try {
    return JSON.parse(text.toString()) as object;
  } catch {
    throw new Refused(texts.bodyNotJson());
  }
}

export function queryOf({ query }: AnyOperation, given: Given): object | undefined {
  return query === undefined ? undefined : gather(fieldsOf(query), given, {});
}

const types: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
};

export function fileOf(
  { upload }: AnyOperation,
  given: Given,
): { bytes: Uint8Array<ArrayBuffer>; type: string } | undefined {
  if (upload === undefined) return undefined;
  const path = String(given["file"]);
  const type = types[extname(path).toLowerCase()];
  if (type === undefined || !upload.types.includes(type))
    throw new Refused(texts.uploadTypeInvalid({ path, types: upload.types }));
  return { bytes: new Uint8Array(contents(path)), type };
}

function contents(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Refused(shared.fileUnreadable({ path, reason: String((error as NodeJS.ErrnoException).code) }));
  }
}
