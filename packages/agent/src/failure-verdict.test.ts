import { expect, test } from "vitest";
import { type Failure, failureVerdict, type Verdict } from "./failure-verdict.ts";

const ill: Failure = {
  attempt: 0,
  table: "provision",
  tombstone: false,
  cannotHeal: false,
  gatewayAway: false,
  neverHadData: false,
  changing: false,
};
const change: Failure = { ...ill, changing: true };
const born: Failure = { ...ill, neverHadData: true };

const cases: [string, Failure, Verdict][] = [
  ["a new node's first failure", born, "working"],
  ["a new node's hundredth failure", { ...born, attempt: 99 }, "working"],
  ["a new node without its engine", { ...born, cannotHeal: true }, "give up"],
  ["a server that keeps dying", { ...ill, attempt: 99 }, "working"],
  ["a running node on a full host", { ...ill, cannotHeal: true }, "working"],
  ["a change's first failure", change, "working"],
  ["a change's second failure", { ...change, attempt: 1 }, "working"],
  ["a change's third failure", { ...change, attempt: 2 }, "failed"],
  ["a change that is tried on", { ...change, attempt: 99 }, "failed"],
  ["a change to an image that is not on the host", { ...change, cannotHeal: true }, "failed"],
  ["a change to power off", { ...change, table: "power-off", attempt: 2 }, "failed"],
  ["a change before any step", { ...change, table: undefined, attempt: 2 }, "failed"],
  ["a change while the gateway is away", { ...change, gatewayAway: true, attempt: 99 }, "working"],
  ["a list's second failure", { ...ill, table: "firewall", attempt: 1 }, "working"],
  ["a list's third failure", { ...ill, table: "firewall", attempt: 2 }, "failed"],
  ["a tombstone", { ...change, tombstone: true, table: "tombstone", attempt: 99 }, "working"],
  ["a tombstone of what never was", { ...born, tombstone: true, cannotHeal: true }, "working"],
];
test.each(cases)("%s", (_, failure, verdict) => {
  expect(failureVerdict(failure)).toBe(verdict);
});
