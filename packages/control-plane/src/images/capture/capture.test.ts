import { expect, test } from "vitest";
import { type CaptureFacts, progressOf, whyLate, whyUnreadable } from "./capture.ts";
import { texts } from "./texts.ts";

const able = { state: "active", captures: true } as const;
const facts = (change: Partial<CaptureFacts> = {}): CaptureFacts => ({
  imageIsThere: true,
  diskIsTheirs: true,
  host: able,
  seenSince: true,
  state: null,
  message: null,
  content: null,
  ...change,
});

test.each([
  ["requested a moment ago", {}, { state: "working" }],
  ["under way", { state: "working" }, { state: "working" }],
  ["done", { state: "done", content: "c" }, { state: "done", content: "c" }],
  ["done, and its instance handed over", { state: "done", content: "c", diskIsTheirs: false }, { state: "failed" }],
  ["done, and its image deleted", { state: "done", content: "c", imageIsThere: false }, { state: "failed" }],
  [
    "done by a host that died since",
    { state: "done", content: "c", host: { ...able, state: "dead" } },
    { state: "done" },
  ],
  [
    "failed",
    { state: "failed", message: "why" },
    { state: "failed", message: texts.captureHostReported({ message: "why" }) },
  ],
  ["of a dead host", { state: "working", host: { ...able, state: "dead" } }, { state: "failed" }],
  ["of a drained host", { host: { ...able, state: "drained" } }, { state: "working" }],
  ["of an agent that went back a version", { host: { ...able, captures: false } }, { state: "failed" }],
  ["of one that was not seen since", { host: { ...able, captures: false }, seenSince: false }, { state: "working" }],
  ["done without its folder", { state: "done", content: null }, { state: "working" }],
] as const)("a capture %s", (_, change, expected) => {
  expect(progressOf(facts(change as Partial<CaptureFacts>))).toMatchObject(expected);
});

test("each reason why a disk cannot be read has its own text", () => {
  const hosts = [
    undefined,
    { ...able, state: "dead" },
    { ...able, state: "enrolling" },
    { ...able, captures: false },
  ] as const;
  expect(new Set(hosts.map((host) => whyUnreadable(host)?.code)).size).toBe(hosts.length);
  expect(whyUnreadable(able)).toBeUndefined();
  expect(whyUnreadable({ ...able, state: "drained" })).toBeUndefined();
});

test("a late capture shows its progress, if the host was seen", () => {
  expect(whyLate(facts({ seenSince: false }), 0)).toEqual(texts.captureHostUnreachable());
  expect(whyLate(facts({ state: "working" }), 41)).toEqual(texts.captureDeadlineExceeded({ percent: 41 }));
});
