import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { limitConcurrency } from "./limit-concurrency.ts";

/** Work that goes on until the test ends it. */
function newWork() {
  const started: PromiseWithResolvers<void>[] = [];
  return {
    started,
    work: () => {
      const held = Promise.withResolvers<void>();
      started.push(held);
      return held.promise;
    },
  };
}

test("only the given number runs at once; waiting calls run in their order", async () => {
  const limit = limitConcurrency({ atOnce: 2, mostWaiting: 2 });
  const { started, work } = newWork();
  const order: number[] = [];
  const all = [0, 1, 2, 3].map((n) =>
    limit(() => {
      order.push(n);
      return work();
    }),
  );
  await turn();
  expect(order).toEqual([0, 1]);

  started[1]?.resolve();
  await all[1];
  await turn();
  expect(order).toEqual([0, 1, 2]);

  for (const held of started) held.resolve();
  await turn();
  started[3]?.resolve();
  await Promise.all(all);
  expect(order).toEqual([0, 1, 2, 3]);
});

test("a call above the waiting limit is refused at once, and may be retried", async () => {
  const limit = limitConcurrency({ atOnce: 1, mostWaiting: 1 });
  const { started, work } = newWork();
  const [first, second] = [limit(work), limit(work)];

  await expect(limit(work)).rejects.toMatchObject({
    kind: "unavailable",
    errors: [{ reason: { code: "limit.too_many_waiting" } }],
  });

  started[0]?.resolve();
  await first;
  await turn();
  started[1]?.resolve();
  await second;
  await expect(limit(async () => "done")).resolves.toBe("done");
});

test("work that fails frees its place", async () => {
  const limit = limitConcurrency({ atOnce: 1, mostWaiting: 0 });

  for (let n = 0; n < 3; n++)
    await expect(
      limit(async () => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");

  await expect(limit(async () => "done")).resolves.toBe("done");
});
