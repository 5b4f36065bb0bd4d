import { expect, test } from "vitest";
import { Email } from "./email.ts";

const at = (length: number): string => `${"x".repeat(length - "@bakery.example".length)}@bakery.example`;

test.each([
  "anna@example.com",
  "anna.b+shop@mail.example.co.uk",
  "a@example.xn--p1ai",
  "a&b@example.com",
  "o'neill@example.ie",
  "user/dept@example.com",
  "x!#$%&'*+-/=?^_`{|}~@example.com",
  "1@2.example",
  "a@3com.example",
  "info@mu\u0308nchen.de",
  "почта@пример.рф",
  "用户@例子.公司",
  "이메일@도메인.한국",
  "उपयोगकर्ता@उदाहरण.भारत",
  "jürgen@müller.example",
  "δοκιμή@παράδειγμα.ελ",
  at(79),
  `${"x".repeat(64)}@${"y".repeat(55)}.example`,
])("%s is an address", (address) => {
  expect(Email.safeParse(address).success).toBe(true);
});

test.each([
  "",
  "anna",
  "anna@",
  "@example.com",
  "anna@example",
  "anna@@example.com",
  "anna@exa mple.com",
  "an na@example.com",
  ".anna@example.com",
  "anna.@example.com",
  "an..na@example.com",
  "anna@.example.com",
  "anna@example..com",
  "anna@example.com.",
  "anna@-example.com",
  "anna@example-.com",
  "anna@192.0.2.7",
  "anna@[192.0.2.7]",
  '"anna b"@example.com',
  "Anna <anna@example.com>",
  "anna@example.com\r\nBcc: all@example.com",
  "anna\u202e@example.com",
  "anna\u0000@example.com",
  "anna@example.c",
  "anna,bob@example.com",
  `${"x".repeat(65)}@example.com`,
  `${"x".repeat(60)}@${"y".repeat(60)}.example`,
])("%j is not an address", (text) => {
  expect(Email.safeParse(text).success).toBe(false);
});
