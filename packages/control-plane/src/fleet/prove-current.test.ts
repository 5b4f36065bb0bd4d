import { expect, test } from "vitest";
import { claimsMore, wasSetBack } from "./prove-current.ts";

const position = { server: "7", timeline: 3, lsn: 5000 };
const server = { fingerprint: "now", position };
const installation = { epoch: 2, noticed_lsn: 4000 };
const told = { epoch: 2, revision: 5, position };
const host = { revision: 5, proven_fingerprint: "now" };

test.each([
  ["the same", {}, false],
  ["behind", { revision: 4 }, false],
  ["of an earlier epoch, whatever its revision", { epoch: 1, revision: 99 }, false],
  ["new", { epoch: 0, revision: 0 }, false],
  ["of a later revision", { revision: 6 }, true],
  ["of a later epoch", { epoch: 3, revision: 0 }, true],
  ["at this position", { position }, false],
  ["behind this position", { position: { ...position, lsn: 4999 } }, false],
  ["ahead of this position", { position: { ...position, lsn: 5001 } }, true],
  ["ahead on an earlier timeline", { position: { ...position, timeline: 2, lsn: 9000 } }, false],
  ["ahead on another server", { position: { ...position, server: "8", lsn: 9000 } }, false],
])("a host that was told a state that is %s", (_name, theirs, isBehind) => {
  expect(wasSetBack(installation, host, server, { ...told, ...theirs })).toBe(isBehind);
});

test("what a host claims without a statement of ours shows no rollback, and is noticed", () => {
  expect(wasSetBack(installation, host, server, undefined)).toBe(false);
  expect(claimsMore(installation, host, { epoch: 2, revision: 6 })).toBe(true);
  expect(claimsMore(installation, host, { epoch: 3, revision: 0 })).toBe(true);
  expect(claimsMore(installation, host, { epoch: 2, revision: 5 })).toBe(false);
  expect(claimsMore(installation, host, { epoch: 1, revision: 99 })).toBe(false);
});

test("a host that is not proven is compared with the position at which the server was noticed", () => {
  const theirs = { ...told, position: { ...position, lsn: 4500 } };
  expect(wasSetBack(installation, { revision: 5, proven_fingerprint: "before" }, server, theirs)).toBe(true);
  expect(wasSetBack(installation, { revision: 5, proven_fingerprint: "now" }, server, theirs)).toBe(false);
});
