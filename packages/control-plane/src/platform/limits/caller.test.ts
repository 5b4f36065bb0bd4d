import { expect, test } from "vitest";
import { callerOf, networkOf } from "./caller.ts";

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:db8::9", "2001:db8:0:0::/64"],
  ["2001:0db8:0000:0000:1::", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
])("%s spends the budget of %s", (ip, network) => {
  expect(networkOf(ip)).toBe(network);
});

test.each([
  ["203.0.113.7", undefined],
  ["::ffff:203.0.113.7", undefined],
  ["2001:db8:1:2:3:4:5:6", "ip:2001:db8:1::/48"],
  ["2001:0DB8:0001:ffff::9", "ip:2001:db8:1::/48"],
  ["::1", "ip:0:0:0::/48"],
])("%s spends beside its own the budget of %s", (ip, name) => {
  expect(callerOf.anonymous(ip).group?.name).toBe(name);
});
