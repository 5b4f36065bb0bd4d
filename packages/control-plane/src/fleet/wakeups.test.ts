import { expect, test } from "vitest";
import { createWakeups } from "./poll-desired.ts";

const never = new AbortController().signal;

test("a wake-up ends all waits of its host, and of no other host", async () => {
  const wakeups = createWakeups();
  const ended: string[] = [];
  const wait = (hostId: number, name: string) => wakeups.wait(hostId, 200, never).then(() => ended.push(name));
  const waits = [wait(1, "first"), wait(1, "second"), wait(2, "other")];

  wakeups.wake(1);
  await Promise.all(waits.slice(0, 2));

  expect(ended).toEqual(["first", "second"]);
  wakeups.wake("all");
  await Promise.all(waits);
  expect(ended).toEqual(["first", "second", "other"]);
});

test("a wait ends by itself, and when its process shuts down", async () => {
  const wakeups = createWakeups();
  const closing = new AbortController();
  const began = Date.now();

  await wakeups.wait(1, 20, never);
  const long = wakeups.wait(1, 60_000, closing.signal);
  closing.abort();
  await long;

  expect(Date.now() - began).toBeLessThan(50_000);
});
