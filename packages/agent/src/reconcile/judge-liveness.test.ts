import { expect, test } from "vitest";
import { livenessOf, type Look, silentSince } from "./judge-liveness.ts";

const silence: Look = { answers: false, isStarting: false, isOutOfDisk: false };
const limits = { reportAfterMs: 60_000, killAfterMs: 180_000 };

test("silence counts from the first look without an answer, and an answer ends it", () => {
  expect(silentSince(undefined, silence, 1000)).toBe(1000);
  expect(silentSince(1000, silence, 11_000)).toBe(1000);
  expect(silentSince(1000, { ...silence, answers: true }, 21_000)).toBeUndefined();
});

test("a server that starts, or whose disk is full, is not silent", () => {
  expect(silentSince(1000, { ...silence, isStarting: true }, 500_000)).toBeUndefined();
  expect(silentSince(1000, { ...silence, isOutOfDisk: true }, 500_000)).toBeUndefined();
});

test.each([
  [undefined, "responsive"],
  [0, "silent"],
  [59_999, "silent"],
  [60_000, "unresponsive"],
  [179_999, "unresponsive"],
  [180_000, "hung"],
] as const)("after %s ms without an answer a server is %s", (silentMs, liveness) => {
  const now = 1_000_000;
  expect(livenessOf(silentMs === undefined ? undefined : now - silentMs, now, limits)).toBe(liveness);
});
