import { type DiskFault, formatNames, numberedProblems, plainProblems } from "@moorage/disk-image";
import type { Text } from "@moorage/contract/texts";
import { z } from "zod";
import { inflateFaults } from "./inflate-faults.ts";
import { texts } from "./texts.ts";

const Count = z.number().nonnegative();
const FoundOnDisk = z.discriminatedUnion("problem", [
  z.strictObject({ problem: z.enum(plainProblems) }),
  z.strictObject({ problem: z.enum(numberedProblems), value: Count }),
  z.strictObject({ problem: z.literal("other_format"), format: z.enum(formatNames) }),
  z.strictObject({ problem: z.literal("partition_beyond_end"), partition: Count, end: Count, sectors: Count }),
]) satisfies z.ZodType<DiskFault>;

/**
 * What the child may give as reasons: codes, numbers and members of lists. Nothing that it chooses becomes a part of a
 * sentence, except the first four bytes of an upload, as hexadecimal digits.
 */
const refusals = {
  uploadEmpty: z.strictObject({}),
  uploadAboveLimit: z.strictObject({ maxBytes: Count }),
  uploadOfOtherFormat: z.strictObject({ format: z.enum(formatNames) }),
  uploadNotGzip: z.strictObject({ first: z.string().regex(/^[\da-f]{2}( [\da-f]{2}){0,3}$/) }),
  uploadHasTrailingData: z.strictObject({ position: Count }),
  uploadCpuLimit: z.strictObject({ seconds: Count }),
  gzipMemberLimit: z.strictObject({ max: Count }),
  gzipTruncated: z.strictObject({ at: z.union([z.enum(["header", "trailer"]), Count]) }),
  gzipDamaged: z.strictObject({ position: Count, fault: z.enum(inflateFaults) }),
  gzipChecksumWrong: z.strictObject({ start: Count }),
  gzipLengthWrong: z.strictObject({ start: Count, bytes: Count }),
  gzipHeaderUnsupported: z.strictObject({ start: Count }),
  gzipHeaderChecksumWrong: z.strictObject({ start: Count }),
  gzipHeaderTooLong: z.strictObject({ start: Count, maxBytes: Count }),
  diskTooLarge: z.strictObject({ maxMb: Count }),
  diskContentLimit: z.strictObject({ maxMb: Count }),
  diskUnusable: FoundOnDisk,
};

export type RefusalArguments = { [Code in keyof typeof refusals]: z.output<(typeof refusals)[Code]> };
export type Refusal = {
  [Code in keyof RefusalArguments]: { code: Code; args: RefusalArguments[Code] };
}[keyof RefusalArguments];

const isCode = (code: string): code is keyof typeof refusals => Object.hasOwn(refusals, code);

/** Reads what the child gave, and writes the sentence for the person who uploaded the data. */
export const RefusalText = z
  .strictObject({ code: z.string().refine(isCode), args: z.unknown() })
  .transform(({ code, args }, context): Text => {
    const parsed = refusals[code].safeParse(args);
    if (parsed.success) return (texts[code] as (args: unknown) => Text)(parsed.data);
    context.addIssue({ code: "custom", message: `not the arguments of ${code}` });
    return z.NEVER;
  });
