import { expect, test } from "vitest";
import { secretCookie } from "./secret-cookie.ts";

const SECRET = "ab".repeat(32);

test("over https, scripts, other sites and other hosts get no secret", () => {
  const cookie = secretCookie("https://login.test", { name: "moorage-device", seconds: 60, sameSite: "Strict" });
  expect(cookie.set(SECRET)).toBe(
    `__Host-moorage-device=${SECRET}; Max-Age=60; Path=/; HttpOnly; SameSite=Strict; Secure`,
  );
});
