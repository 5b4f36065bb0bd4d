import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createPlaces, type Place } from "./places.ts";

/** A place that is certainly there, and what its claims came to. */
function newPlaces(most: number, share: { places: number; atOnce: number }) {
  const places = createPlaces(most, share);
  const started: string[] = [];
  const claim = (name: string, holder: string): Place => {
    const place = places.take();
    if (place === undefined) throw new Error("no place is left");
    void place.claim(holder).then((mayStart) => started.push(mayStart ? name : `not ${name}`));
    return place;
  };
  return { places, started, claim };
}

test("one holder gets at most its share of the places, and another gets the rest", async () => {
  const { started, claim, places } = newPlaces(4, { places: 2, atOnce: 2 });

  for (const name of ["a1", "a2", "a3"]) {
    const place = claim(name, "a");
    await turn();
    if (started.at(-1) === `not ${name}`) place.free();
  }
  claim("b1", "b");
  claim("b2", "b");
  await turn();

  expect(started).toEqual(["a1", "a2", "not a3", "b1", "b2"]);
  expect(places.take()).toBeUndefined();
});

test("what a holder has beyond its requests in progress waits in order, and holds up nobody else", async () => {
  const { started, claim } = newPlaces(10, { places: 5, atOnce: 2 });
  const [first, second] = ["a1", "a2", "a3", "a4"].map((name) => claim(name, "a"));
  claim("b1", "b");
  await turn();
  expect(started).toEqual(["a1", "a2", "b1"]);

  second?.free();
  await turn();
  expect(started.at(-1)).toBe("a3");
  first?.free();
  await turn();
  expect(started.at(-1)).toBe("a4");
});

test("a request that is abandoned while it waits is not started, and its turn passes on", async () => {
  const { started, claim } = newPlaces(10, { places: 5, atOnce: 1 });
  const [first, second] = ["a1", "a2", "a3"].map((name) => claim(name, "a"));
  await turn();
  expect([first?.state(), second?.state()]).toEqual(["held", "waiting"]);

  second?.free();
  await turn();
  expect(started).toEqual(["a1", "not a2"]);
  first?.free();
  await turn();
  expect(started.at(-1)).toBe("a3");
});

test("freeing a place twice frees one place and one turn", async () => {
  const { places, started, claim } = newPlaces(3, { places: 3, atOnce: 1 });
  const [first] = ["a1", "a2", "a3"].map((name) => claim(name, "a"));

  first?.free();
  first?.free();
  await turn();

  expect(started).toEqual(["a1", "a2"]);
  expect([places.take() !== undefined, places.take()]).toEqual([true, undefined]);
});
