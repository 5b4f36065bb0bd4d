import type { AnyOperation } from "@moorage/contract";
import { isText } from "./validate.ts";

type Slashed = Pick<AnyOperation, "slashParam">;
type Raw = Readonly<Record<string, string>>;

/** The paths of an operation as routes. An id with a slash arrives as two segments, or as one with `%2F`. */
export const urlsOf = ({ slashParam }: Slashed, paths: readonly string[]): readonly string[] =>
  slashParam === undefined
    ? paths
    : paths.flatMap((each) => [each, each.replace(`:${slashParam}`, `:${slashParam}_left/:${slashParam}_right`)]);

/** As they were sent; an id of two segments is joined. */
export function rawParams({ slashParam }: Slashed, sent: Raw): Raw {
  const left = slashParam === undefined ? undefined : sent[`${slashParam}_left`];
  return left === undefined ? sent : { ...sent, [slashParam as string]: `${left}/${sent[`${slashParam}_right`]}` };
}

type Parsed = { params: unknown } | { wrong: string };

/** The parameters of a path, or the name of the first that no object can have. */
export function readParams({ params: schema, slashParam }: AnyOperation, sent: Raw): Parsed {
  if (schema === undefined) return { params: undefined };
  const joined = rawParams(slashParam === undefined ? {} : { slashParam }, sent);
  const parsed = schema.safeParse(joined);
  const notText = Object.entries(joined).find(([, value]) => !isText(value))?.[0];
  const wrong = parsed.success ? notText : String(parsed.error.issues[0]?.path[0]);
  return wrong === undefined ? { params: parsed.data } : { wrong };
}
