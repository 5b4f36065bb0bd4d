import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createTurns } from "./turns.ts";

/** Work that goes on until it is told to end. */
function newWork() {
  const begun: PromiseWithResolvers<void>[] = [];
  return {
    begun,
    work: () => {
      const held = Promise.withResolvers<void>();
      begun.push(held);
      return held.promise;
    },
  };
}

test("only so many at once; those that wait come in their order", async () => {
  const inTurn = createTurns({ atOnce: 2, mostWaiting: 2 });
  const { begun, work } = newWork();
  const order: number[] = [];
  const all = [0, 1, 2, 3].map((n) =>
    inTurn(() => {
      order.push(n);
      return work();
    }),
  );
  await turn();
  expect(order).toEqual([0, 1]);

  begun[1]?.resolve();
  await all[1];
  await turn();
  expect(order).toEqual([0, 1, 2]);

  for (const held of begun) held.resolve();
  await turn();
  begun[3]?.resolve();
  await Promise.all(all);
  expect(order).toEqual([0, 1, 2, 3]);
});

test("one more than may wait is refused at once, and can come again", async () => {
  const inTurn = createTurns({ atOnce: 1, mostWaiting: 1 });
  const { begun, work } = newWork();
  const [first, second] = [inTurn(work), inTurn(work)];

  await expect(inTurn(work)).rejects.toMatchObject({ kind: "unavailable" });

  begun[0]?.resolve();
  await first;
  await turn();
  begun[1]?.resolve();
  await second;
  await expect(inTurn(async () => "done")).resolves.toBe("done");
});

test("work that fails gives its turn back", async () => {
  const inTurn = createTurns({ atOnce: 1, mostWaiting: 0 });

  for (let n = 0; n < 3; n++)
    await expect(
      inTurn(async () => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");

  await expect(inTurn(async () => "done")).resolves.toBe("done");
});
