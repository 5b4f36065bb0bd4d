import { expect, test } from "vitest";
import { requireNoCoreDumps } from "./core-dumps.ts";

const limits = (soft: string, hard: string) =>
  `Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max core file size        ${soft.padEnd(20)} ${hard.padEnd(20)} bytes
`;

test.each([
  ["0", "unlimited"],
  ["unlimited", "unlimited"],
  ["0", "4096"],
])("a process that may leave a core dump (%s, %s) does not start", (soft, hard) => {
  expect(() => requireNoCoreDumps(limits(soft, hard))).toThrow("LimitCORE=1");
});

test.each([
  ["0", "0"],
  ["1", "1"],
])("one that may not (%s, %s) does", (soft, hard) => {
  expect(() => requireNoCoreDumps(limits(soft, hard))).not.toThrow();
});
