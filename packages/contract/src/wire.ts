import { z } from "zod";

/** The only format that the SDKs of this family parse: no fraction, no zone. UTC. */
export const Timestamp = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/);

/** A time in a request: as above, or with a fraction, `Z` or an offset. Without a zone it is UTC. */
export const Moment = z
  .string({ error: "a time such as 2026-01-31T23:59:59" })
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})?$/, {
    error: "a time such as 2026-01-31T23:59:59",
    abort: true,
  })
  .refine((text) => !Number.isNaN(toDate(text).getTime()), "a time that exists, such as 2026-01-31T23:59:59");

export const toDate = (moment: string): Date => new Date(/(Z|[+-]\d{2}:?\d{2})$/.test(moment) ? moment : `${moment}Z`);

export const toTimestamp = (at: Date): string => at.toISOString().slice(0, 19);

/** An id in a path: decimal digits without a sign or a leading zero, so that an object has one address. */
export const Id = z.preprocess(
  (value) => (typeof value === "string" && !/^[1-9][0-9]*$/.test(value) ? undefined : Number(value)),
  z.int().positive(),
);

/**
 * The longest text that a schema accepts, where a check says so. Not in the OpenAPI document: such a text is looked up,
 * and no longer one was ever valid.
 */
export const longestTexts = z.registry<{ longest: number }>();

const LONGEST_NAME = 100;

/** The name of something that the operator offers. `valid` says what it is. */
export const offered = (valid: string) =>
  z
    .string({ error: valid })
    .refine((name) => name.length <= LONGEST_NAME, { error: valid, abort: true })
    .register(longestTexts, { longest: LONGEST_NAME });

/** Texts with the values known today: a client must not fail on one that is added later. */
export const openSets = z.registry<{ known: readonly string[] }>();
export const openSet = (known: z.ZodEnum) =>
  z.string().register(openSets, { known: known.options.map((option) => String(option)) });

export const page = <Item extends z.ZodType>(item: Item) =>
  z.object({ data: z.array(item), page: z.int(), pages: z.int(), results: z.int() });

export const ErrorReply = z.object({
  errors: z.array(z.object({ field: z.string().optional(), reason: z.string() })),
});
export type ErrorReply = z.output<typeof ErrorReply>;

export const Empty = z.object({});
