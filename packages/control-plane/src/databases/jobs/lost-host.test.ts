import { expect, test } from "vitest";
import { nextOfDatabase, type ObservedDatabase } from "./lost-host.ts";

const well: ObservedDatabase = {
  status: "active",
  host: { dead: false, silentSeconds: 3 },
  unresponsive: false,
  busy: undefined,
  restorable: true,
  failedSeconds: undefined,
};
const silent = { dead: false, silentSeconds: 30 };
const dead = { dead: true, silentSeconds: 90 };

test.each<[string, Partial<ObservedDatabase>, ReturnType<typeof nextOfDatabase>]>([
  ["a database whose host polls is left alone", {}, "nothing"],
  ["a database whose host missed three polls is degraded", { host: silent }, "degrade"],
  ["a database whose server does not answer is degraded", { unresponsive: true }, "degrade"],
  ["it is not healed before its server answers", { unresponsive: true, status: "degraded" }, "nothing"],
  ["it is degraded once", { host: silent, status: "degraded" }, "nothing"],
  ["an operation on a silent host is left to its deadline", { host: silent, busy: { ends: true } }, "nothing"],
  [
    "a suspended database is as it was, whether its host polls or not",
    { host: silent, status: "suspended" },
    "nothing",
  ],
  ["a degraded database whose host polls again is healed", { status: "degraded" }, "heal"],
  ["a database whose host is dead is restored elsewhere", { host: dead }, "restore elsewhere"],
  ["a suspended one too", { host: dead, status: "suspended" }, "restore elsewhere"],
  ["one without a node too", { host: undefined, status: "degraded" }, "restore elsewhere"],
  ["an operation that needs the dead host is ended first", { host: dead, busy: { ends: true } }, "end operation"],
  ["a restore elsewhere continues", { host: dead, busy: { ends: false }, status: "restoring" }, "nothing"],
  [
    "a restore elsewhere that failed is not repeated at once",
    { host: dead, status: "degraded", failedSeconds: 599 },
    "nothing",
  ],
  ["it is repeated after ten minutes", { host: dead, status: "degraded", failedSeconds: 600 }, "restore elsewhere"],
  ["a database without a backup is given up", { host: dead, restorable: false }, "give up"],
  ["a failed database has nothing to restore", { host: dead, status: "failed" }, "nothing"],
])("%s", (_title, change, next) => {
  expect(nextOfDatabase({ ...well, ...change })).toBe(next);
});
