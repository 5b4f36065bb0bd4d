import type { GroupReport } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { memberSeen } from "#testing/member-seen.ts";
import { whyStuck } from "./why-stuck.ts";

const A = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const online: GroupReport = { state: "online", role: "secondary", view: "v.4", online: 2, shared: true, term: 4 };
const away: GroupReport = { state: "offline", online: 0, shared: false, term: 4, gtid: `${A}:1-9` };
const saved_errant = { name: "lost/3.ab", gtid: `${A}:6-9`, bytes: 1, sha256: "c" };
const diverged: GroupReport = { ...away, errant: `${A}:6-9`, saved_errant };

const stuck = (own: GroupReport, { isSeen = true, others = online, seconds = 200 } = {}) =>
  whyStuck(
    [
      memberSeen(0, others, { unhealthySeconds: others === online ? 0 : seconds }),
      memberSeen(1, others, { unhealthySeconds: others === online ? 0 : seconds }),
      memberSeen(2, own, { state: "working", unhealthySeconds: seconds }),
    ],
    { ordinal: 2, isSeen },
    { hostSilentSeconds: 300 },
  );

test("a replacement whose member has errant transactions after it was re-cloned ends, once they are saved", () => {
  expect(stuck(diverged)).toBe("diverged");
  expect(stuck({ ...away, errant: `${A}:6-9` })).toBeUndefined();
});

test("errant transactions that were reported before the order to re-clone do not end it", () => {
  expect(stuck(diverged, { isSeen: false })).toBeUndefined();
});

test("a replacement without a donor for two minutes ends", () => {
  expect(stuck(away, { others: away })).toBe("no donor");
  expect(stuck(away, { others: away, seconds: 119 })).toBeUndefined();
});
