import { z } from "zod";

/** A schema makes an issue of every fault: in a list of thousands that takes longer than all else in a request. */
export const MOST_FAULTS = 20;

type Issue = z.core.$ZodIssue;
type Checked = {
  /** Of each long list: that it is too long, or its first faults. */
  faults: readonly Issue[];
  /** The paths of these lists. */
  lists: readonly (readonly PropertyKey[])[];
  /** The input without the entries of these lists. */
  rest: unknown;
};

/** Checks lists of more than twenty entries, as far as their first twenty faults. */
export function faultsOfLongLists(schema: unknown, input: unknown, path: readonly PropertyKey[] = []): Checked {
  const known = withoutWrappers(schema);
  if (known instanceof z.ZodArray && Array.isArray(input)) {
    const faults = input.length > MOST_FAULTS ? faultsOf(known, input, path) : [];
    return faults.length === 0 ? { faults, lists: [], rest: input } : { faults, lists: [path], rest: [] };
  }
  if (!(known instanceof z.ZodObject) || typeof input !== "object" || input === null)
    return { faults: [], lists: [], rest: input };
  const [faults, lists]: [Issue[], (readonly PropertyKey[])[]] = [[], []];
  let rest = input;
  for (const [name, inner] of Object.entries(known.shape)) {
    if (!Object.hasOwn(input, name)) continue;
    const checked = faultsOfLongLists(inner, (input as Record<string, unknown>)[name], [...path, name]);
    if (checked.faults.length === 0) continue;
    faults.push(...checked.faults);
    lists.push(...checked.lists);
    rest = { ...rest, [name]: checked.rest };
  }
  return { faults, lists, rest };
}

function faultsOf(list: z.ZodArray, entries: readonly unknown[], path: readonly PropertyKey[]): Issue[] {
  const faults: Issue[] = [];
  // A list of entries that are never looked at has the faults of its length alone.
  const checks = (list.def.checks ?? []) as z.core.$ZodCheck<unknown[]>[];
  const ofLength =
    z
      .array(z.unknown())
      .check(...checks)
      .safeParse(entries).error?.issues ?? [];
  if (ofLength.some(({ code }) => code === "too_big")) return ofLength.map((issue) => ({ ...issue, path: [...path] }));
  for (const [place, entry] of entries.entries()) {
    const found = (list.element as z.ZodType).safeParse(entry).error?.issues ?? [];
    faults.push(...found.map((issue) => ({ ...issue, path: [...path, place, ...issue.path] })));
    if (faults.length >= MOST_FAULTS) break;
  }
  return faults.slice(0, MOST_FAULTS);
}

/** The schema itself, without its optional and default wrappers. */
export function withoutWrappers(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable)
    return withoutWrappers(schema.unwrap());
  return schema instanceof z.ZodPipe ? withoutWrappers(schema.in) : schema;
}
