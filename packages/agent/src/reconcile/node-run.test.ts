import { expect, test } from "vitest";
import { testSpec } from "../testing/node-spec.ts";
import {
  type Attempts,
  type Failure,
  type FailureVerdict,
  failureVerdict,
  nextAttempt,
  type Outcome,
  runFor,
} from "./node-run.ts";

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

const cases: [string, Failure, FailureVerdict][] = [
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

const now = 1_000_000;
const died = (attempt: number, ranMs: number): Attempts => ({ attempt, runningSince: now - ranMs });
const attempts: [string, Attempts, Outcome, Attempts, number][] = [
  ["a first start does not wait", { attempt: 0 }, "down", { attempt: 0 }, 0],
  ["a start after a failure keeps its count", { attempt: 2 }, "down", { attempt: 2 }, 0],
  ["a stable server that died starts at once", died(4, 60_001), "down", { attempt: 0 }, 0],
  ["a server that died early starts at once, once", died(0, 60_000), "down", { attempt: 1 }, 0],
  ["a server that keeps dying waits", died(1, 10), "down", { attempt: 2 }, 1000],
  ["a server that keeps dying waits longer", died(3, 10), "down", { attempt: 4 }, 4000],
  ["running begins", { attempt: 3 }, "running", { attempt: 3, runningSince: now }, 0],
  ["running goes on", { attempt: 3, runningSince: 7 }, "running", { attempt: 3, runningSince: 7 }, 0],
  ["a stopped node starts afresh", { attempt: 3, runningSince: 7 }, "resting", { attempt: 0 }, 0],
  ["a first failure waits", { attempt: 0 }, "failed", { attempt: 1 }, 1000],
  ["the wait doubles", { attempt: 2, runningSince: 7 }, "failed", { attempt: 3 }, 4000],
  ["the wait has a limit", { attempt: 20 }, "failed", { attempt: 21 }, 30_000],
  ["what was given up is not tried again", { attempt: 1 }, "gave up", { attempt: 1, gaveUp: true }, Infinity],
];
test.each(attempts)("%s", (_, before, outcome, after, waitMs) => {
  expect(nextAttempt(before, outcome, now)).toEqual({ attempts: after, waitMs });
});

test("a newer spec starts afresh, but does not renew or apply the baseline sooner", () => {
  const [older, newer] = [testSpec(), testSpec()];
  const run = {
    ...runFor(older, undefined),
    attempts: { attempt: 4 },
    isWaiting: true,
    isProvisioning: true,
    renewAfter: 5,
    baselineAfter: 6,
  };

  expect(runFor(older, run)).toBe(run);
  expect(runFor(newer, run)).toEqual({
    spec: newer,
    attempts: { attempt: 0 },
    isWaiting: false,
    isProvisioning: true,
    serving: undefined,
    renewAfter: 5,
    baselineAfter: 6,
  });
});
