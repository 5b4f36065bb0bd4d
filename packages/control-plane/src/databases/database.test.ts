import { DatabaseStatus } from "@moorage/contract";
import { expect, test } from "vitest";
import {
  faultsOfFixedFields,
  replicationOf,
  requireActionAllowed,
  statusAfterProvision,
  statusAfterUpdate,
  statusDuringUpdate,
} from "./database.ts";

const may = (action: Parameters<typeof requireActionAllowed>[0]): string[] =>
  DatabaseStatus.options.filter((status) => {
    try {
      requireActionAllowed(action, status);
      return true;
    } catch {
      return false;
    }
  });

test("what may be done in which state", () => {
  expect(may("update")).toEqual(["active"]);
  expect(may("delete")).toEqual(["active", "failed", "degraded"]);
  expect(may("read the credentials of")).toEqual(DatabaseStatus.options.filter((status) => status !== "provisioning"));
});

test("a refusal says the state and which would do", () => {
  expect(() => requireActionAllowed("delete", "provisioning")).toThrow(
    "Cannot delete a database that is provisioning; it must be active, failed or degraded.",
  );
});

test.each(DatabaseStatus.options.filter((status) => status !== "provisioning"))(
  "the end of a provision does not touch a database that is %s",
  (status) => {
    expect([statusAfterProvision(status, true), statusAfterProvision(status, false)]).toEqual([status, status]);
  },
);

test("a provision ends in active or failed", () => {
  expect(statusAfterProvision("provisioning", true)).toBe("active");
  expect(statusAfterProvision("provisioning", false)).toBe("failed");
});

test("an update that hosts must follow passes through updating, and its end touches no other state", () => {
  expect([statusDuringUpdate("active", false), statusDuringUpdate("active", true)]).toEqual(["active", "updating"]);
  for (const status of DatabaseStatus.options)
    expect(statusAfterUpdate(status)).toBe(status === "updating" ? "active" : status);
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
  for (const engine of ["mysql", engine_version])
    expect(faultsOfFixedFields(made, { ...same, engine, type: plan, label: "other", allow_list: [] })).toEqual([]);
  expect(faultsOfFixedFields(made, {})).toEqual([]);
});

test.each([
  [{ engine: "mysql/8.0.26" }],
  [{ region: "us-east" }],
  [{ cluster_size: 3 }],
  [{ encrypted: true }],
  [{ ssl_connection: false }],
  [{ replication_type: "semi_synch" as const }],
])("%j cannot be changed", (change) => {
  const [field = ""] = Object.keys(change);
  expect(faultsOfFixedFields(made, change)).toEqual([{ field, reason: `${field} cannot be changed` }]);
});

test("another type is refused with the one that it has, beside every other fault", () => {
  expect(faultsOfFixedFields(made, { type: "m1-large", region: "us-east" })).toMatchObject([
    { field: "region" },
    { field: "type", reason: expect.stringContaining("m1-small") },
  ]);
});

test("one node replicates nothing, and what is not offered is refused by its field", () => {
  expect(replicationOf({ cluster_size: 1, replication_type: undefined })).toBe("none");
  expect(() => replicationOf({ cluster_size: 3, replication_type: undefined })).toThrow("cluster_size");
  expect(() => replicationOf({ cluster_size: 1, replication_type: "semi_synch" })).toThrow("replication_type");
});
