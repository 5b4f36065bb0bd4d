import { type Operation, operations } from "@moorage/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newWorld, type World } from "../../packages/control-plane/src/testing/world.ts";
import { namesIn } from "./cells.ts";
import { sendRequest, BAD_BODY, fillPath } from "./outcome.ts";
import { newFixture, type Fixture } from "./fixture.ts";

let world: World;
let fixture: Fixture;
beforeAll(async () => {
  world = await newWorld();
  await world.host({ memory_mb: 10_240_000, disk_mb: 102_400_000 });
  fixture = await newFixture(world);
});
afterAll(() => world[Symbol.asyncDispose]());

/** What JavaScript, or another parser of numbers, reads as the same number. */
const spellings = (id: string): string[] => [
  `0x${Number(id).toString(16)}`,
  `0b${Number(id).toString(2)}`,
  `0o${Number(id).toString(8)}`,
  `+${id}`,
  `-${id}`,
  `0${id}`,
  `${id}.0`,
  `${id}.`,
  `${id}e0`,
  `${id}E0`,
  `${id}n`,
  `0.${id}e${id.length}`,
  ` ${id}`,
  `${id} `,
  `${id}\t`,
  `\n${id}`,
  `\u00a0${id}`,
  `${id},`,
  `${id}_0`,
  `${id}/`,
  "NaN",
  "Infinity",
  "null",
  // Digits of other scripts.
  id.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(0x0660 + Number(digit))),
];

const withIds = operations.filter(
  ({ path, params }) => params !== undefined && namesIn(path).some((name) => isNumber(params.shape[name])),
);
function isNumber(schema: unknown): boolean {
  return (schema as { safeParse(value: string): { data?: unknown } }).safeParse("7").data === 7;
}

test("the number of operations with a numeric id is known", () => {
  expect(withIds.length).toBeGreaterThan(30);
});

test.each(withIds.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
  "%s: an id is decimal digits, and any other spelling is not found",
  async (_, operation: Operation) => {
    const target = await fixture.target(namesIn(operation.path), fixture.owner);
    const authorization = `Bearer ${fixture.ownersToken}`;
    for (const name of namesIn(operation.path)) {
      const id = target.params[name] ?? "";
      if (!isNumber(operation.params?.shape[name])) continue;
      for (const spelled of spellings(id)) {
        const path = fillPath(operation.path, { params: { ...target.params, [name]: spelled } });
        const { status } = await sendRequest(world, operation, path, authorization, BAD_BODY);
        expect([spelled, status]).toEqual([spelled, 404]);
      }
    }
    // The control: with the correct spelling it is found.
    if (operation.method !== "GET") return;
    const found = await sendRequest(world, operation, fillPath(operation.path, target), authorization);
    expect(found.status).not.toBe(404);
  },
);
