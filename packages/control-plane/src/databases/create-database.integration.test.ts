import { expect, test } from "vitest";
import { newWorld } from "#testing/world.ts";

test("smoke", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const reply = await alice.create({ label: "abc" });
  expect(reply).toEqual({});
});
