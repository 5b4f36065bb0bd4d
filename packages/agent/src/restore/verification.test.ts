import { expect, test } from "vitest";
import { testSpec } from "../testing/node-spec.ts";
import { dueVerification } from "./verification.ts";
import type { LastVerification } from "../specs/node-state.ts";

const archive = { recipient: "age1", log_seconds: 60, copy_hours: { from: 20, to: 24 }, verify_days: 5 };
const spec = testSpec({ archive });
const last: LastVerification = { at: "2026-11-01T00:00:00Z", ok: true, image: spec.engine.image, agent: "1.0.0" };

const cases: [string, string, LastVerification | undefined, boolean][] = [
  ["never tried", "2026-11-01T00:00:00Z", undefined, true],
  ["just under five days ago", "2026-11-05T23:59:59Z", last, false],
  ["five days ago", "2026-11-06T00:00:00Z", last, true],
  ["an hour ago with another image", "2026-11-01T01:00:00Z", { ...last, image: "1".repeat(64) }, true],
  ["an hour ago by another agent", "2026-11-01T01:00:00Z", { ...last, agent: "0.9.0" }, true],
  ["found broken an hour ago", "2026-11-01T01:00:00Z", { ...last, ok: false }, false],
  ["found broken a day ago", "2026-11-02T00:00:00Z", { ...last, ok: false }, true],
];
test.each(cases)("whether a verification is due when the last one was %s", (_, now, record, due) => {
  expect(dueVerification(new Date(now), record, spec, "1.0.0")).toBe(due);
});

// Seven daily backups are kept, and one of them must be verified.
test.each([
  ["2026-11-06T23:59:59Z", false],
  ["2026-11-07T00:00:00Z", true],
])("verifications are at most six days apart, whatever the setting: %s", (now, due) => {
  const rarely = testSpec({ archive: { ...archive, verify_days: 30 } });
  expect(dueVerification(new Date(now), last, rarely, "1.0.0")).toBe(due);
});

test("a node without an archive has nothing to verify", () => {
  expect(dueVerification(new Date("2026-11-30T00:00:00Z"), undefined, testSpec(), "1.0.0")).toBe(false);
});
