import { expect, test } from "vitest";
import { faultOfPassword } from "./passwords.ts";

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
  ["fourteen chars", "sign_in.password_too_short"],
  ["x".repeat(64), "sign_in.password_repetitive"],
  ["abc".repeat(6), "sign_in.password_repetitive"],
  [`${"three quiet boats ".repeat(8)}!`, "sign_in.password_too_long"],
  ["Baker-Baker-Baker-1", "sign_in.password_contains_name"],
  ["jo.baker@bakery.example", "sign_in.password_contains_name"],
  ["moorage moorage 12", "sign_in.password_contains_name"],
  ["Password-Password-123", "sign_in.password_common"],
  ["qwertyuiop asdfghjkl", "sign_in.password_common"],
])("%s cannot, with a reason", (password, code) => {
  expect(faultOfPassword(password, baker)?.code).toBe(code);
});

// Otherwise a user named `a` could use hardly any password.
test("a very short name does not forbid its letters", () => {
  expect(faultOfPassword("banana papaya mango", { username: "an", email: "a@b.example" })).toBeUndefined();
});
