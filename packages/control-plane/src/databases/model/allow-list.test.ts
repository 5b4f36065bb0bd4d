import { expect, test } from "vitest";
import { sameSources, sourcesOf } from "./allow-list.ts";

test.each([
  [[], []],
  [["0.0.0.0/0"], ["0.0.0.0/0", "::/0"]],
  [["::/0"], ["::/0"]],
  [
    ["2001:DB8::1", "203.0.113.7", "203.0.113.7/32", "10.0.0.0/8"],
    ["10.0.0.0/8", "2001:db8::1/128", "203.0.113.7/32"],
  ],
  [["::ffff:1.2.3.4", "anywhere"], []],
])("%j admits %j", (list, sources) => {
  expect(sourcesOf(list)).toEqual(sources);
});

test.each([
  [["203.0.113.7", "::1"], ["0:0::1", "203.0.113.7/32"], true],
  [["0.0.0.0/0"], ["::/0", "0.0.0.0/0"], true],
  [["203.0.113.7"], ["203.0.113.7", "203.0.113.7"], true],
  [["203.0.113.7"], ["203.0.113.8"], false],
  [["203.0.113.7"], [], false],
  [["0.0.0.0/0"], ["::/0"], false],
])("%j and %j are the same to a host: %s", (a, b, same) => {
  expect(sameSources(a, b)).toBe(same);
});
