import { expect, test } from "vitest";
import { recordSetsOf } from "./dns-activities.ts";

const [primary, secondary] = ["db-7-mysql-primary.db.test", "db-7-mysql-primary-private.db.test"];
const found = (hosts: Parameters<typeof recordSetsOf>[1]) =>
  recordSetsOf(7, hosts, "db.test").map(({ name, type, addresses }) => [name, type, ...addresses].join(" "));

test.each([
  [
    "no host: nothing is left under either name",
    [],
    [`${primary} A`, `${primary} AAAA`, `${secondary} A`, `${secondary} AAAA`],
  ],
  [
    "one host with every address",
    [{ address: "192.0.2.1", address6: "2001:db8::1", private_address: "10.0.0.1" }],
    [`${primary} A 192.0.2.1`, `${primary} AAAA 2001:db8::1`, `${secondary} A 10.0.0.1`, `${secondary} AAAA`],
  ],
  [
    "without a private network both names have the public addresses",
    [{ address: "192.0.2.1", address6: "2001:db8::1", private_address: null }],
    [
      `${primary} A 192.0.2.1`,
      `${primary} AAAA 2001:db8::1`,
      `${secondary} A 192.0.2.1`,
      `${secondary} AAAA 2001:db8::1`,
    ],
  ],
  [
    "every host of a cluster, each once",
    [
      { address: "192.0.2.2", address6: null, private_address: null },
      { address: "192.0.2.1", address6: null, private_address: null },
      { address: "192.0.2.1", address6: null, private_address: null },
    ],
    [`${primary} A 192.0.2.1 192.0.2.2`, `${primary} AAAA`, `${secondary} A 192.0.2.1 192.0.2.2`, `${secondary} AAAA`],
  ],
])("%s", (_, hosts, expected) => {
  expect(found(hosts)).toEqual(expected);
});
