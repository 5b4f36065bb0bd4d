import { expect, test } from "vitest";
import { lifetimes, sessionSeconds } from "./lifetimes.ts";

test("a session that is used goes on for half a day, and ends a week after its beginning", () => {
  const { idle, whole } = lifetimes.session;
  expect(sessionSeconds(undefined, 1000)).toBe(idle);
  expect(sessionSeconds(1000, 1000)).toBe(idle);
  expect(sessionSeconds(1000, 1000 + whole - 60)).toBe(60);
  expect(sessionSeconds(1000, 1000 + whole + 60)).toBe(1);
});
