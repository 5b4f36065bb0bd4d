import type { Operation } from "@moorage/contract";
import { likelyMeant } from "@moorage/contract/likely-meant";
import { z } from "zod";
import type { ErrorDetail } from "#platform/errors.ts";
import { withoutWrappers } from "./long-lists.ts";
import { texts } from "./texts.ts";
import { fieldOf } from "./validate.ts";

/** A body of a megabyte can have any number of names; no client sends more than a handful of unknown ones. */
const MOST_JUDGED = 100;
const MOST_LISTED = 20;

const IGNORED_FIELDS_HEADER = "x-ignored-fields";

type Judged = {
  faults: ErrorDetail[];
  /** Names without effect. */
  ignored: string[];
};

/**
 * Finds the fields of a body that the operation does not know. A mistyped name of a field that was not sent, or a
 * setting that Moorage lacks, would create something else than the sender expects: refused. Fields of other API
 * versions are ignored, and the response names them.
 */
export function judgeUnknownFields(operation: Operation, body: unknown): Judged {
  const judged: Judged = { faults: [], ignored: [] };
  if (operation.body === undefined) return judged;
  let left = MOST_JUDGED;
  for (const { path, value, isShown, missing } of unknownIn(operation.body, operation.reply, body, [])) {
    const field = fieldOf(path);
    if (operation.notOffered?.includes(field) === true) {
      if (hasValue(value)) judged.faults.push({ field, reason: texts.fieldNotOffered({ field }) });
      continue;
    }
    // SDKs send back the whole view in order to change a part of it.
    if (isShown && operation.method === "PUT") continue;
    if (left-- === 0) break;
    const meant = isShown ? undefined : likelyMeant(String(path.at(-1)), missing);
    if (meant === undefined) judged.ignored.push(field.replaceAll(/\[\d+\]/g, "[]"));
    else
      judged.faults.push({
        field,
        reason: texts.fieldMistyped({ field, meant: fieldOf([...path.slice(0, -1), meant]) }),
      });
  }
  return judged;
}

type Unknown = {
  path: readonly PropertyKey[];
  value: unknown;
  /** A response has a field of this name in the same place. */
  isShown: boolean;
  /** Known sibling names that were not sent. */
  missing: readonly string[];
};

function* unknownIn(
  schema: unknown,
  shown: unknown,
  value: unknown,
  path: readonly PropertyKey[],
): Generator<Unknown, void> {
  const [known, reply] = [withoutWrappers(schema), withoutWrappers(shown)];
  if (known instanceof z.ZodArray && Array.isArray(value)) {
    const item = reply instanceof z.ZodArray ? reply.element : undefined;
    for (const [place, each] of value.entries()) yield* unknownIn(known.element, item, each, [...path, place]);
  }
  if (!(known instanceof z.ZodObject) || typeof value !== "object" || value === null || Array.isArray(value)) return;
  // Free JSON.
  if (known.def.catchall !== undefined) return;
  const shownHere: object = reply instanceof z.ZodObject ? reply.shape : {};
  const missing = Object.keys(known.shape).filter((name) => !Object.hasOwn(value, name));
  for (const [name, inner] of Object.entries(value)) {
    const here = [...path, name];
    if (Object.hasOwn(known.shape, name))
      yield* unknownIn(known.shape[name], (shownHere as Record<string, unknown>)[name], inner, here);
    else yield { path: here, value: inner, isShown: Object.hasOwn(shownHere, name), missing };
  }
}

/** Null, false and values that are empty at every level request nothing. */
const hasValue = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).some(hasValue)
    : value !== null && value !== "" && value !== false && value !== undefined;

/** The header that names ignored fields; none if there are none. A name that is no plain word is not repeated. */
export function ignoredFieldsHeader(names: readonly string[]): Record<string, string> {
  if (names.length === 0) return {};
  const listed = [...new Set(names.map((name) => (isPlain(name) ? name : "?")))];
  const some = listed.length > MOST_LISTED ? [...listed.slice(0, MOST_LISTED), "..."] : listed;
  return { [IGNORED_FIELDS_HEADER]: some.join(", ") };
}

/** A header holds ASCII only; and a row of digits may be a card number. */
const isPlain = (name: string): boolean => /^[A-Za-z_][\w.[\]-]{0,63}$/.test(name) && !/\d{4}/.test(name);
