import { z } from "zod";
import { Id } from "../wire.ts";

/** The columns behind these are 32 bits wide. */
const MOST = 2_147_483_647;

export const Name = z.string().min(1).max(64);
export const Amount = z.int().positive().max(MOST);
/** Zero is a limit too. */
export const Limit = z.int().min(0).max(MOST);

/** A price as people write it. A JSON number would be rounded before it is parsed. */
export const Dollars = z
  .string()
  .regex(/^\d{1,7}(?:\.\d{1,6})?$/, 'dollars as text with at most 6 decimals, such as "0.0225"');

/** A list without pages: it stays short. */
export const whole = <Item extends z.ZodType>(item: Item) => z.object({ data: z.array(item) });

export const account = z.object({ accountId: Id });
export const user = account.extend({ username: z.string() });
export const ofAccount = z.object({ account: z.string().describe("list only those of this account").optional() });
