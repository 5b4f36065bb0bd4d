import { z } from "zod";

/** The columns behind these are 32 bits wide. */
const MOST = 2_147_483_647;

export const Name = z.string().min(1).max(64);
export const Amount = z.int().positive().max(MOST);
/** Zero is a limit too. */
export const Limit = z.int().min(0).max(MOST);
export const Nothing = z.object({});
