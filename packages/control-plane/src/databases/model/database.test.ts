import { DatabaseStatus } from "@moorage/contract";
import { expect, test } from "vitest";
import { invalidReason } from "#platform/errors.ts";
import {
  faultsOfFixedFields,
  faultsOfType,
  replicationFaults,
  replicationOf,
  requireActionAllowed,
  statusAfter,
  statusDuring,
} from "./database.ts";
import { texts } from "./texts.ts";

const may = (action: Parameters<typeof requireActionAllowed>[0]): string[] =>
  DatabaseStatus.options.filter((status) => {
    try {
      requireActionAllowed(action, status);
      return true;
    } catch {
      return false;
    }
  });

test("the actions that are allowed in each status", () => {
  expect(may("update")).toEqual(["active", "degraded"]);
  expect(may("reset the credentials of")).toEqual(["active", "degraded"]);
  expect(may("resize")).toEqual(["active"]);
  expect(may("delete")).toEqual(["active", "failed", "degraded"]);
  expect(may("read the credentials of")).toEqual(DatabaseStatus.options.filter((status) => status !== "provisioning"));
});

test("a refusal names the status and the statuses that would be valid", () => {
  expect(() => requireActionAllowed("delete", "provisioning")).toThrow(
    texts.wrongStatus({ action: "delete", status: "provisioning", allowed: ["active", "failed", "degraded"] }).text,
  );
});

const works = ["provision", "update", "resize", "patch", "reset", "backup", "restore", "suspend", "resume"] as const;

test.each(works)("the end of a %s changes only a database in its status", (work) => {
  for (const status of DatabaseStatus.options.filter((each) => each !== statusDuring(work)))
    expect([statusAfter(work, status, { done: true }), statusAfter(work, status, { done: false })]).toEqual([
      status,
      status,
    ]);
});

test.each([
  ["provision", "provisioning", "active", "failed"],
  ["update", "updating", "active", "active"],
  ["resize", "updating", "active", "active"],
  ["patch", "updating", "active", "active"],
  ["reset", "updating", "active", "active"],
  ["backup", "backing_up", "active", "active"],
  ["suspend", "suspending", "suspended", "active"],
  ["resume", "resuming", "active", "suspended"],
] as const)("%s goes through %s to %s, or to %s when it is given up", (work, during, done, failed) => {
  expect(statusDuring(work)).toBe(during);
  expect([statusAfter(work, during, { done: true }), statusAfter(work, during, { done: false })]).toEqual([
    done,
    failed,
  ]);
});

test.each(["active", "degraded", "failed"] as const)("a failed restore returns to %s", (before) => {
  expect(statusAfter("restore", "restoring", { done: false, before })).toBe(before);
  expect(statusAfter("restore", "restoring", { done: true, before })).toBe("active");
});

test.each(["update", "reset"] as const)("a degraded database is degraded after a %s too", (work) => {
  for (const done of [true, false])
    expect(statusAfter(work, "updating", { done, before: "degraded" })).toBe("degraded");
});

const made = {
  plan: "m1-small",
  engine_version: "mysql/9.7.4",
  region: "eu-central",
  cluster_size: 1,
  encrypted: false,
  ssl_connection: true,
  replication_type: "none",
} as const;

test("a whole object may be sent back as it was read or created", () => {
  const { engine_version, plan, ...same } = made;
  for (const engine of ["mysql", "mysql/9", engine_version])
    expect(faultsOfFixedFields(made, { ...same, engine, type: plan, label: "other", allow_list: [] })).toEqual([]);
  for (const version of ["9", "9.7.4"]) expect(faultsOfFixedFields(made, { version })).toEqual([]);
  expect(faultsOfFixedFields(made, {})).toEqual([]);
});

test.each([
  [{ engine: "mysql/8.0.26" }],
  [{ engine: "mysql/8" }],
  [{ version: "8.0.26" }],
  [{ version: "9.7" }],
  [{ region: "us-east" }],
  [{ cluster_size: 3 }],
  [{ encrypted: true }],
  [{ ssl_connection: false }],
  [{ replication_type: "semi_synch" as const }],
])("%j cannot be changed", (change) => {
  const [field = ""] = Object.keys(change);
  expect(faultsOfFixedFields(made, change)).toEqual([
    {
      field,
      reason: {
        code: texts.fieldFixed({ field, equal: [] }).code,
        text: expect.stringMatching(`^${field} cannot be changed: it stays .+`),
      },
    },
  ]);
});

const planOf = (id: string, disk_mb: number) => ({
  id,
  disk_mb,
  label: id,
  class: "standard",
  memory_mb: 1024,
  vcpus: 1,
  deprecated: false,
  hourly_micros: 0,
  monthly_micros: 0,
});
const [small, twin, large, huge] = [planOf("s", 10), planOf("t", 10), planOf("l", 20), planOf("h", 40)];
const plans = { current: large, offered: [small, twin, large, huge] };

test.each(["s", "l", "nowhere"])("from l to %s is refused with the plans that have more disk", (type) => {
  expect(faultsOfType(plans, { type, listChanges: false })).toEqual([
    { field: "type", reason: invalidReason("type", texts.typeNotLarger({ current: "l", larger: ["h"] })) },
  ]);
});

test("a plan with the same disk is not larger", () => {
  expect(faultsOfType({ ...plans, current: small }, { type: "t", listChanges: false })).toEqual([
    { field: "type", reason: invalidReason("type", texts.typeNotLarger({ current: "s", larger: ["l", "h"] })) },
  ]);
  expect(faultsOfType({ ...plans, current: small }, { type: "l", listChanges: false })).toEqual([]);
});

test("the largest plan cannot grow, and a list cannot change together with the type", () => {
  const reasons = faultsOfType({ ...plans, current: huge }, { type: "l", listChanges: true }).map(
    ({ reason }) => reason,
  );
  expect(reasons).toEqual([
    invalidReason("type", texts.typeNotLarger({ current: "h", larger: [] })),
    texts.typeChangedWithAllowList(),
  ]);
});

test("one node does not replicate, three are semi-synchronous by default, other combinations are refused", () => {
  expect(replicationOf({ cluster_size: 1, replication_type: undefined })).toBe("none");
  expect(replicationOf({ cluster_size: 1, replication_type: "none" })).toBe("none");
  expect(replicationOf({ cluster_size: 3, replication_type: undefined })).toBe("semi_synch");
  expect(replicationOf({ cluster_size: 3, replication_type: "semi_synch" })).toBe("semi_synch");
  expect(replicationOf({ cluster_size: 3, replication_type: "asynch" })).toBe("asynch");
  const reasonOf = (cluster_size: 1 | 3, replication_type: "none" | "asynch" | "semi_synch") =>
    replicationFaults({ cluster_size, replication_type })[0]?.reason.code;
  expect(reasonOf(1, "semi_synch")).toBe(texts.oneNodeIsNotReplicated().code);
  expect(reasonOf(3, "none")).toBe(texts.threeNodesAreReplicated().code);
  expect(reasonOf(1, "asynch")).toBe(texts.oneNodeIsNotReplicated().code);
  expect([reasonOf(1, "none"), reasonOf(3, "asynch"), reasonOf(3, "semi_synch")]).toEqual(Array(3).fill(undefined));
});
