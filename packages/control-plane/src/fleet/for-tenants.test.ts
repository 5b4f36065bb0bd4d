import { expect, test } from "vitest";
import { forTenants } from "./check-phase.ts";
import { texts } from "./texts.ts";

const HIDDEN = texts.errorHidden().text;

test.each([
  ["volume: The volume's loop device is still in use.", "The volume's loop device is still in use."],
  ["The table `shop.orders` is broken.", "The table `shop.orders` is broken."],
  ["12 tables with 340 rows were restored and checked.", "12 tables with 340 rows were restored and checked."],
  ["copy: cannot read /var/lib/moorage/volumes/7.img", HIDDEN],
  ["fetch: part-000003 has sha256 9f86d081884c7d659a2feaa0c55ad015", HIDDEN],
  ["engine: connect ECONNREFUSED 10.127.0.4:18443", HIDDEN],
  ["volume: 3e11fa47-71ca-41e1-8e33-c80aa9429562.img is missing", HIDDEN],
  ["start: Command failed: podman run --name=x", HIDDEN],
  ["", HIDDEN],
  [null, HIDDEN],
])("a host's %j is shown to a tenant as %j", (message, expected) => {
  expect(forTenants(message)).toBe(expected);
});
