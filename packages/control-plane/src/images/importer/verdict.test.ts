import { expect, test } from "vitest";
import type { RefusalArguments } from "./refusal.ts";
import { texts } from "./texts.ts";
import { Report } from "./verdict.ts";

const read = (code: string, args: unknown) => Report.safeParse({ kind: "refused", reason: { code, args } });

test("the child gives codes and numbers, and the parent writes the sentence", () => {
  const args = { position: 7, fault: "invalid block type" } as const;
  expect(read("gzipDamaged", args).data).toEqual({ kind: "refused", reason: texts.gzipDamaged(args) });
});

const valid: RefusalArguments = {
  uploadEmpty: {},
  uploadAboveLimit: { maxBytes: 1 },
  uploadOfOtherFormat: { format: "a qcow2 disk" },
  uploadNotGzip: { first: "00 01" },
  uploadHasTrailingData: { position: 1 },
  uploadCpuLimit: { seconds: 1 },
  gzipMemberLimit: { max: 1 },
  gzipTruncated: { at: "header" },
  gzipDamaged: { position: 1, fault: "invalid distance code" },
  gzipChecksumWrong: { start: 1 },
  gzipLengthWrong: { start: 1, bytes: 1 },
  gzipHeaderUnsupported: { start: 1 },
  gzipHeaderChecksumWrong: { start: 1 },
  gzipHeaderTooLong: { start: 1, maxBytes: 1 },
  diskTooLarge: { maxMb: 1 },
  diskContentLimit: { maxMb: 1 },
  diskUnusable: { problem: "other_format", format: "a tar archive" },
};

test.each(Object.entries(valid))("no text of the child comes out in a refusal: %s", (code, args) => {
  const leak = "the secret of another tenant";
  expect(read(code, args).success).toBe(true);
  for (const name of [...Object.keys(args), "text"]) expect(read(code, { ...args, [name]: leak }).success).toBe(false);
});

test("a refusal with a text of its own, or of no known code, is not accepted", () => {
  const reason = { code: "uploadEmpty", args: {} };
  expect(Report.safeParse({ kind: "refused", reason: { ...reason, text: "anything" } }).success).toBe(false);
  expect(read("toString", {}).success).toBe(false);
});
