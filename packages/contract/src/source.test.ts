import { expect, test } from "vitest";
import { canonicalSource, Source } from "./source.ts";

test.each([
  ["203.0.113.7", "203.0.113.7/32"],
  ["203.0.113.7/32", "203.0.113.7/32"],
  ["203.0.113.0/24", "203.0.113.0/24"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["2001:DB8:0:0::1", "2001:db8::1/128"],
  ["2001:db8::/32", "2001:db8::/32"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0/128"],
  ["::/0", "::/0"],
])("%s is accepted as %s", (text, canonical) => {
  expect(Source.safeParse(text).success).toBe(true);
  expect(canonicalSource(text)).toBe(canonical);
});

test.each([
  ["01.2.3.4", "address"],
  ["0x7f.1", "address"],
  ["1.2.3", "address"],
  ["1.2.3.4/33", '"1.2.3.4/33": its prefix is at most 32'],
  ["1.2.3.0/024", "address"],
  ["1.2.3.4/24/24", "address"],
  ["fe80::1%eth0", "address"],
  ["00001::1", "address"],
  ["2001:db8::/129", '"2001:db8::/129": its prefix is at most 128'],
  ["a".repeat(1000), `not "${"a".repeat(64)}…"`],
  [" 1.2.3.4", "address"],
  ["1.2.3.4\n", "address"],
  ["localhost", 'not "localhost"'],
  ["", "address"],
  ["::ffff:1.2.3.4", "not inside of an IPv6 one"],
  ["::ffff:102:304", "not inside of an IPv6 one"],
  ["::1.2.3.4", "not inside of an IPv6 one"],
  ["203.0.113.7/24", "203.0.113.0/24"],
  ["2001:db8::1/32", "2001:db8::/32"],
])("%j is refused: %s", (text, reason) => {
  expect(Source.safeParse(text).error?.issues[0]?.message).toContain(reason);
});

test("an older list is read without bits beyond the prefix, and never as a wider range", () => {
  expect(canonicalSource("203.0.113.7/24")).toBe("203.0.113.0/24");
  expect(["::ffff:1.2.3.4", "::1.2.3.4", "1.2.3", "anywhere"].map(canonicalSource)).toEqual(Array(4).fill(undefined));
});
