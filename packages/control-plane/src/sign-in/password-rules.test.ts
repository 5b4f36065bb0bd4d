import { expect, test } from "vitest";
import { faultOfPassword } from "./password-rules.ts";

const baker = { username: "baker", email: "jo.baker@bakery.example" };

test.each([
  "three quiet boats at dusk",
  "Tr0ub4dor&3 and friends",
  "ñandú über größe çedilla",
  "船が港に静かに停泊している夜の海",
  "a".repeat(3).concat(" long phrase that a person remembers, ", "0123456789".repeat(8)),
])("%s can be a password", (password) => {
  expect(faultOfPassword(password, baker)).toBeUndefined();
});

test.each([
  ["fourteen chars", "at least 15"],
  ["x".repeat(64), "repeats itself"],
  ["abc".repeat(6), "repeats itself"],
  [`${"three quiet boats ".repeat(8)}!`, "at most 128"],
  ["Baker-Baker-Baker-1", "without your user name"],
  ["jo.baker@bakery.example", "without your user name"],
  ["moorage moorage 12", "without your user name"],
  ["Password-Password-123", "Many people use"],
  ["qwertyuiop asdfghjkl", "Many people use"],
])("%s cannot, with a reason", (password, why) => {
  expect(faultOfPassword(password, baker)).toContain(why);
});

// Otherwise a user named `a` could use hardly any password.
test("a very short name does not forbid its letters", () => {
  expect(faultOfPassword("banana papaya mango", { username: "an", email: "a@b.example" })).toBeUndefined();
});
