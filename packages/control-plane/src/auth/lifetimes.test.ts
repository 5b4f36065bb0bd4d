import { expect, test } from "vitest";
import { lifetimes, sessionSeconds } from "./provider.ts";

test("use extends a session by half a day, up to a week after sign-in", () => {
  const { idle, whole } = lifetimes.session;
  expect(sessionSeconds(undefined, 1000)).toBe(idle);
  expect(sessionSeconds(1000, 1000)).toBe(idle);
  expect(sessionSeconds(1000, 1000 + whole - 60)).toBe(60);
  expect(sessionSeconds(1000, 1000 + whole + 60)).toBe(1);
});
