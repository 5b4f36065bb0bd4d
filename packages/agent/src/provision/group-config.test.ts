import { expect, test } from "vitest";
import { configFile } from "./config-file.ts";
import { memberSpec, testSpec } from "../testing/node-spec.ts";

test("a member uses its host's address and the peer port, and never joins by itself", () => {
  const text = configFile("", memberSpec(1));
  expect(text).toMatch(/^port = 24096$/m);
  expect(text).toMatch(/^report_host = 198\.18\.77\.2$/m);
  expect(text).toMatch(/^group_replication_local_address = 198\.18\.77\.2:24096$/m);
  expect(text).toMatch(/^group_replication_start_on_boot = OFF$/m);
  expect(text).toMatch(/^group_replication_ssl_mode = VERIFY_IDENTITY$/m);
  expect(text).toMatch(/^group_replication_recovery_ssl_verify_server_cert = ON$/m);
});

test("a replaced member, a permission or an order does not change the others' files", () => {
  const before = memberSpec(1);
  const { cluster } = before;
  if (cluster === undefined) throw new Error("no cluster");
  const members = cluster.members.map((member) =>
    member.ordinal === 2 ? { ...member, address: "198.18.77.9" } : member,
  );
  const id = "33333333-3333-4333-8333-333333333333";
  const after = { ...before, cluster: { ...cluster, members, bootstrap: id, reclone: { id }, make_primary: id } };
  expect(configFile("", after)).toBe(configFile("", before));
});

test("the clone plugin is loaded once, whether a member is the archiver or not", () => {
  const archive = { recipient: "age1", log_seconds: 60, copy_hours: { from: 20, to: 24 }, verify_days: 7 };
  for (const spec of [memberSpec(0), memberSpec(0, { archive })])
    expect(configFile("", spec).match(/mysql_clone/g)).toHaveLength(1);
  expect(configFile("", testSpec())).not.toContain("group_replication");
});
