import { z } from "zod";
import { defineOperation } from "../operation.ts";
import { Timestamp } from "../wire.ts";

/** The newest links of the chains at some time: `audit:120:<43 characters> ledger:7:<43 characters>`. */
const Anchor = z
  .string()
  .max(2000)
  .regex(
    /^[a-z_]+:[1-9]\d{0,15}:[\w-]{43}( [a-z_]+:[1-9]\d{0,15}:[\w-]{43})*$/,
    "the anchor of an earlier verification or log line, such as audit:120:… ledger:7:…",
  );

export const ChainFault = z.object({
  fault: z.enum([
    "changed",
    "cut",
    "deleted",
    "forged",
    "missing_links",
    "repeated",
    "replaced",
    "unlinked",
    "unproven",
  ]),
  /** The primary key of the row, such as `7/1025`. */
  row: z.string().nullable(),
  link: z.object({ position: z.int(), linked: Timestamp }).nullable(),
});
export type ChainFault = z.output<typeof ChainFault>;

/** Verification of the next part of the chains. */
export const VerifiedPart = z.object({
  chain: z.string(),
  links: z.int(),
  rows: z.int(),
  /** When the first and the last of these links were made. */
  from: Timestamp.nullable(),
  to: Timestamp.nullable(),
  /** Rows that are not linked yet. */
  waiting: z.int(),
  faults: z.int(),
  first: ChainFault.nullable(),
  /** The newest link, with the last part of a chain. */
  anchor: z.string().nullable(),
  next: z.string().nullable(),
});
export type VerifiedPart = z.output<typeof VerifiedPart>;

export const verifyAudit = defineOperation({
  audience: "operator",
  tag: "Audit",
  id: "verifyAudit",
  summary: "Verify a part of the chains of the audit and of the money records",
  note: "Repeat it with `cursor` until `next` is null.",
  method: "GET",
  path: "/admin/audit/verification",
  query: z.object({
    cursor: z
      .string()
      .max(100)
      .regex(/^[a-z_]+:(links:\d{1,16}|rows:(-?\d{1,16}(\/-?\d{1,16}){0,2})?)$/, "`next` of the reply before")
      .describe("`next` of the previous reply")
      .optional(),
    anchor: Anchor.describe("anchor that an earlier verification or the log of the worker has").optional(),
  }),
  reply: VerifiedPart,
});
