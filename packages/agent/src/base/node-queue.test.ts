import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createNodeQueue } from "./node-queue.ts";

test("at most `limit` nodes run at once, each once at a time, and a wake during a run is not lost", async () => {
  const active = new Set<string>();
  const runs: string[] = [];
  let most = 0;
  const queue = createNodeQueue(2, async (node) => {
    expect(active.has(node)).toBe(false);
    active.add(node);
    runs.push(node);
    most = Math.max(most, active.size);
    await sleep(5);
    active.delete(node);
  });
  for (const node of ["a", "b", "c", "d"]) queue.wake(node);
  queue.wake("a"); // it is running: once more, afterwards
  queue.wake("d"); // it waits: once is enough
  await queue.idle();
  expect(most).toBe(2);
  expect(runs.sort()).toEqual(["a", "a", "b", "c", "d"]);
});

test("a wake replaces a later one", async () => {
  const runs: string[] = [];
  const queue = createNodeQueue(1, async (node) => void runs.push(node));
  queue.wakeLater("a", 10);
  queue.wake("a");
  await sleep(30);
  expect(runs).toEqual(["a"]);
});
