import { generateKeyPairSync, sign } from "node:crypto";
import { type DeletionAllowance, signedText } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { type Deletion, guardDeletion, rememberDeletions } from "./deletion-guard.ts";

const operator = generateKeyPairSync("ed25519");
const stranger = generateKeyPairSync("ed25519");
const now = new Date("2026-06-01T12:00:00.000Z");
const ago = (seconds: number): string => new Date(now.getTime() - seconds * 1000).toISOString();
const nodeOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const started = (count: number, secondsAgo: number): Deletion[] =>
  Array.from({ length: count }, (_, index) => ({ node: nodeOf(index), at: ago(secondsAgo) }));

function allow(change: Partial<DeletionAllowance> = {}, key = operator.privateKey): DeletionAllowance {
  const text = { host: 7, count: 2, from: ago(60), until: ago(-3600), ...change };
  return { ...text, signature: sign(null, Buffer.from(signedText(text)), key).toString("base64") };
}
const paidBy = (allowance: DeletionAllowance, count: number): Deletion[] =>
  Array.from({ length: count }, (_, index) => ({
    node: nodeOf(50 + index),
    at: ago(5),
    allowance: signedText(allowance),
  }));
const judge = (deletions: Deletion[], allowance?: DeletionAllowance, node = nodeOf(99)) =>
  guardDeletion({
    node,
    now,
    deletions,
    allowance,
    perWindow: 5,
    windowMs: 600_000,
    host: 7,
    operatorKey: operator.publicKey,
  });

const cases: [string, Deletion[], DeletionAllowance | undefined, string][] = [
  ["the first", [], undefined, "admit"],
  ["the fifth", started(4, 10), undefined, "admit"],
  ["the sixth", started(5, 10), undefined, "held"],
  ["the sixth, after the window", started(5, 601), undefined, "admit"],
  ["the sixth with an allowance", started(5, 10), allow(), "admit"],
  ["the third under an allowance for two", [...started(5, 10), ...paidBy(allow(), 2)], allow(), "held"],
  ["after allowed ones, within the window's own five", [...started(4, 10), ...paidBy(allow(), 2)], undefined, "admit"],
  ["an allowance for another host", started(5, 10), allow({ host: 8 }), "held"],
  ["an allowance that has ended", started(5, 10), allow({ until: ago(1) }), "held"],
  ["an allowance that has not begun", started(5, 10), allow({ from: ago(-10) }), "held"],
  ["an allowance signed by somebody else", started(5, 10), allow({}, stranger.privateKey), "held"],
  ["an allowance whose count was raised after the signature", started(5, 10), { ...allow(), count: 100 }, "held"],
  [
    "an allowance used up, its signature spelled differently",
    [...started(5, 10), ...paidBy(allow(), 2)],
    { ...allow(), signature: `${allow().signature}\n` },
    "held",
  ],
  ["a signature that is no signature", started(5, 10), { ...allow(), signature: "?" }, "held"],
];
test.each(cases)("%s", (_, deletions, allowance, kind) => {
  expect(judge(deletions, allowance).kind).toBe(kind);
});

test("an interrupted deletion continues even if the window is full", () => {
  expect(judge(started(6, 10), undefined, nodeOf(3)).kind).toBe("started");
});

test("a held deletion is retried when the window has room", () => {
  const deletions = [...started(1, 500), ...started(5, 10).slice(1)];
  expect(judge(deletions)).toEqual({ kind: "held", retryAt: new Date(now.getTime() + 100_000) });
});

test("deletions of a valid allowance are never forgotten, so it cannot be used twice", () => {
  const old = { node: nodeOf(1), at: ago(100_000), allowance: signedText(allow()) };
  expect(rememberDeletions([old, ...started(1, 100_000)], now, allow())).toEqual([old]);
});
