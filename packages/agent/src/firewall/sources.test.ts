import { cidrFrom, otherMatcher, probes } from "@moorage/testkit/cidr.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { admits, readSources, UnreadableSource } from "./sources.ts";

test.each([
  "10.0.0.1",
  "10.0.0.1/24",
  "010.0.0.0/8",
  "0x0a.0.0.0/8",
  "10/8",
  "10.0.0.0/33",
  "10.0.0.0/8 ",
  "10.0.0.0/8, 0.0.0.0/0",
  "localhost/32",
  "2001:DB8::/32",
  "2001:0db8::/32",
  "2001:db8::1/32",
  "fe80::1%eth0/128",
  "::/129",
  "/8",
  "",
  "1.2.3.4/32 } ; flush ruleset ; #",
])("%j is refused, and so is every list that contains it", (text) => {
  expect(() => readSources(["192.0.2.0/24", text])).toThrow(UnreadableSource);
});

test("a range within another is dropped, and adjacent ranges are not merged", () => {
  const { v4, v6 } = readSources(["10.1.0.0/16", "10.0.0.0/8", "11.0.0.0/8", "10.0.0.0/8", "::/0", "fd00::1/128"]);
  expect([v4.map(({ text }) => text), v6.map(({ text }) => text)]).toEqual([["10.0.0.0/8", "11.0.0.0/8"], ["::/0"]]);
});

test("an IPv4-mapped IPv6 address is matched as IPv4", () => {
  const sources = readSources(["192.0.2.7/32"]);
  expect([admits(sources, "::ffff:192.0.2.7"), admits(sources, "::ffff:192.0.2.8")]).toEqual([true, false]);
});

test("`admits` agrees with an independent matcher", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer().map(cidrFrom), { maxLength: 30 }),
      fc.array(fc.integer(), { minLength: 10 }),
      (list, seeds) => {
        const admitted = otherMatcher(list);
        const sources = readSources(list.map(({ text }) => text));
        for (const { address, family } of probes(list, seeds))
          expect([address, admits(sources, address)]).toEqual([address, admitted({ address, family })]);
      },
    ),
  );
});
