import { DatabaseStatus } from "@moorage/contract";
import { expect, test } from "vitest";
import { replicationOf, requireActionAllowed, statusAfterProvision } from "./database.ts";

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

test("one node replicates nothing, and what is not offered is refused by its field", () => {
  expect(replicationOf({ cluster_size: 1, replication_type: undefined })).toBe("none");
  expect(() => replicationOf({ cluster_size: 3, replication_type: undefined })).toThrow("cluster_size");
  expect(() => replicationOf({ cluster_size: 1, replication_type: "semi_synch" })).toThrow("replication_type");
});
