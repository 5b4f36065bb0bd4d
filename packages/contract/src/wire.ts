import { z } from "zod";

/** The only layout that the SDKs of this family parse: no fraction, no zone. UTC. */
export const Timestamp = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/);

export const toTimestamp = (at: Date): string => at.toISOString().slice(0, 19);

export const Id = z.coerce.number().int().positive();

export const page = <Item extends z.ZodType>(item: Item) =>
  z.object({ data: z.array(item), page: z.int(), pages: z.int(), results: z.int() });

export const ErrorReply = z.object({
  errors: z.array(z.object({ field: z.string().optional(), reason: z.string() })),
});
export type ErrorReply = z.output<typeof ErrorReply>;

export const Empty = z.object({});
