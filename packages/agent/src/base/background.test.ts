import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createBackground, type Work } from "./background.ts";
import { NotYet } from "./try-again.ts";

type Named = Work & { ended: PromiseWithResolvers<void>; signals: AbortSignal[] };

function work(name: string): Named {
  const ended = Promise.withResolvers<void>();
  const signals: AbortSignal[] = [];
  return {
    name,
    waitsFor: `the end of ${name}`,
    ended,
    signals,
    run(signal) {
      signals.push(signal);
      signal.addEventListener("abort", () => ended.reject(signal.reason));
      return ended.promise;
    },
  };
}

function open(isHeldBy: (running: readonly Work[], next: Work) => string | undefined = () => undefined) {
  const woken: string[] = [];
  return { woken, background: createBackground<Work>({ isHeldBy, wake: (node) => woken.push(node) }) };
}

const waiting = expect.objectContaining({ name: "NotYet" });

test("work that ends at once does not end the run", async () => {
  const { background, woken } = open();
  await background.run("a", { name: "quick", waitsFor: "nothing", run: async () => {} });
  await expect(
    background.run("a", { name: "bad", waitsFor: "nothing", run: async () => Promise.reject(new Error("no")) }),
  ).rejects.toThrow("no");
  expect(woken).toEqual([]);
});

test("long work ends the run, is done once, and wakes its node when it has ended", async () => {
  const { background, woken } = open();
  const clone = work("clone");
  await expect(background.run("a", clone)).rejects.toEqual(waiting);
  await expect(background.run("a", clone)).rejects.toEqual(waiting);
  expect(background.runningFor("a")).toBe(clone);
  clone.ended.resolve();
  await expect.poll(() => woken).toEqual(["a"]);
  expect([background.runningFor("a"), clone.signals.length]).toEqual([undefined, 1]);
});

test("the next run learns once that long work failed", async () => {
  const { background, woken } = open();
  const clone = work("clone");
  await expect(background.run("a", clone)).rejects.toEqual(waiting);
  clone.ended.reject(new Error("the donor is gone"));
  await expect.poll(() => woken).toEqual(["a"]);
  await expect(background.run("a", clone)).rejects.toThrow("the donor is gone");
  const again = work("clone");
  await expect(background.run("a", again)).rejects.toEqual(waiting);
  expect(again.signals).toHaveLength(1);
});

test("other work of the same node ends the previous one first", async () => {
  const { background } = open();
  const [clone, upload] = [work("clone"), work("upload")];
  await expect(background.run("a", clone)).rejects.toEqual(waiting);
  await expect(background.run("a", upload)).rejects.toEqual(waiting);
  expect([clone.signals[0]?.aborted, upload.signals[0]?.aborted]).toEqual([true, false]);
});

test("work that the last run did not request is ended", async () => {
  const { background, woken } = open();
  const upload = work("upload");
  await expect(background.run("a", upload)).rejects.toEqual(waiting);
  background.beginRun("a");
  await expect(background.run("a", upload)).rejects.toEqual(waiting);
  await background.endUnrequested("a");
  expect(upload.signals[0]?.aborted).toBe(false);
  background.beginRun("a");
  await background.endUnrequested("a");
  expect(upload.signals[0]?.aborted).toBe(true);
  await sleep(0);
  expect(woken).toEqual([]);
});

test("held work starts when what held it has ended", async () => {
  const { background, woken } = open((running) => (running.length > 0 ? "another one" : undefined));
  const [first, second] = [work("first"), work("second")];
  await expect(background.run("a", first)).rejects.toEqual(waiting);
  await expect(background.run("b", second)).rejects.toEqual(
    expect.objectContaining({ message: "Waiting for another one." }),
  );
  expect(second.signals).toEqual([]);
  first.ended.resolve();
  await expect.poll(() => woken.toSorted()).toEqual(["a", "b"]);
  await expect(background.run("b", second)).rejects.toBeInstanceOf(NotYet);
  expect(second.signals).toHaveLength(1);
});
