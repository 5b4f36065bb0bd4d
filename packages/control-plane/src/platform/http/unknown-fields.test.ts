import {
  createMysqlDatabase,
  operations,
  updateMysqlDatabase,
  updatePreferences,
  updateUserGrants,
} from "@moorage/contract";
import { expect, test } from "vitest";
import { texts } from "./texts.ts";
import { ignoredFieldsHeader, judgeUnknownFields } from "./unknown-fields.ts";

const headerOf = (names: string[]): string | undefined => ignoredFieldsHeader(names)["x-ignored-fields"];

test("a mistyped name is refused with a suggestion, also inside of an object", () => {
  expect(judgeUnknownFields(updateMysqlDatabase, { allowlist: [], updates: { hourOfDay: 3 } })).toEqual({
    faults: [
      { field: "allowlist", reason: texts.fieldMistyped({ field: "allowlist", meant: "allow_list" }) },
      {
        field: "updates.hourOfDay",
        reason: texts.fieldMistyped({ field: "updates.hourOfDay", meant: "updates.hour_of_day" }),
      },
    ],
    ignored: [],
  });
});

// One SDK sends `ltype` beside `type` for a fork.
test("a name beside the field that it resembles is not a typing error", () => {
  expect(judgeUnknownFields(createMysqlDatabase, { type: "m1-small", ltype: "m1-small" })).toEqual({
    faults: [],
    ignored: ["ltype"],
  });
});

test.each([[{ vpc_id: 1, subnet_id: 2 }], ["x"], [7], [true], [["a"]]])(
  "an unsupported setting is refused with the value %j",
  (private_network) => {
    expect(judgeUnknownFields(createMysqlDatabase, { private_network }).faults).toEqual([
      { field: "private_network", reason: texts.fieldNotOffered({ field: "private_network" }) },
    ]);
  },
);

test.each([[null], [{}], [[]], [""], [false], [{ vpc_id: null, subnet_id: null }]])(
  "an unsupported setting is accepted with %j, which requests nothing",
  (private_network) => {
    expect(judgeUnknownFields(createMysqlDatabase, { private_network })).toEqual({ faults: [], ignored: [] });
  },
);

test("an update may send back what a view shows without a warning; a create is warned", () => {
  const shown = { id: 7, status: "active", created: "2026-01-31T00:00:00", updated: "2026-01-31T00:00:00", port: 1 };
  const body = { ...shown, updates: { pending: [] } };

  expect(judgeUnknownFields(updateMysqlDatabase, body)).toEqual({ faults: [], ignored: [] });
  expect(judgeUnknownFields(createMysqlDatabase, shown)).toEqual({ faults: [], ignored: Object.keys(shown) });
});

test("items of a list are checked, free JSON is not", () => {
  const grants = {
    database: [
      { id: 1, label: "a", permissions: null },
      { id: 2, permissions: null, colour: "red" },
    ],
  };

  expect(judgeUnknownFields(updateUserGrants, grants).ignored).toEqual(["database[].colour"]);
  expect(judgeUnknownFields(updatePreferences, { anything: { at: "all" } })).toEqual({ faults: [], ignored: [] });
});

/** Fields that compatible clients send or show, in any of their versions, and that Moorage does not know. */
const others = [
  "private_network",
  "engine_config",
  "oldest_restore_time",
  "members",
  "platform",
  "replication_commit_type",
  "tags",
  "longview_subscription",
  "maintenance_policy",
  "interfaces_for_new_linodes",
  "connection_strings",
  "readonly_count",
  "hosts",
  "port",
  "id",
  "created",
  "updated",
  "status",
  "version",
  "instance_uri",
  "used",
  "total_disk_size_gb",
  "ip_whitelist_enabled",
  "add_buckets",
  "add_kubernetes",
  "add_lkes",
  "lkecluster",
  "child_account_access",
  "ssh_keys",
  "user_type",
  "password",
  "pending",
  "account_id",
  "balance",
  "secret",
  "restricted",
  "scopes",
  "client_id",
  "user_id",
  "cloud_firewall_id",
  "capabilities",
  "vendor",
  "nonce",
];
const bodies = operations
  .filter(({ body }) => body !== undefined)
  .map((operation) => [operation.id, operation] as const);
test.each(bodies)("%s takes no field of another version for a typing error", (_id, operation) => {
  const body = Object.fromEntries(others.map((name) => [name, null]));
  expect(judgeUnknownFields(operation, body).faults).toEqual([]);
});

test.each([[undefined], [null], [[]], ["text"], [7], [{ label: null }], [{ updates: [] }], [{ updates: 7 }]])(
  "%j has no unknown field",
  (body) => {
    expect(judgeUnknownFields(updateMysqlDatabase, body)).toEqual({ faults: [], ignored: [] });
  },
);

test("the first hundred of very many names are checked, and the header stays short", () => {
  const body = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, n) => [`name${n % 26}_${"x".repeat(n % 50)}${n}`, 1]),
  );
  const { faults, ignored } = judgeUnknownFields(createMysqlDatabase, body);

  expect(faults).toEqual([]);
  expect(ignored.length).toBeLessThanOrEqual(100);
  expect(headerOf(ignored)?.length).toBeLessThan(2000);
  expect(headerOf(ignored)).toMatch(/, \.\.\.$/);
});

test("only plain words are repeated in a header", () => {
  const names = ["a\r\nset-cookie: x", "é", "4242424242424242", "x4242424242424242", "", " ", "b".repeat(65), "plain"];
  expect(headerOf(names)).toBe("?, plain");
  expect(ignoredFieldsHeader([])).toEqual({});
});
