import { expect, test } from "vitest";
import { outputOf } from "./sealed-output.ts";

const WHOLE = 65_536;

/** Each chunk's buffer, and whether the chunk fills it. */
async function memoryOf(script: string): Promise<{ memory: ArrayBuffer; filled: boolean }[]> {
  const seen: { memory: ArrayBuffer; filled: boolean }[] = [];
  for await (const { buffer, byteLength } of outputOf(script, [], { signal: new AbortController().signal }))
    seen.push({ memory: buffer as ArrayBuffer, filled: byteLength === buffer.byteLength });
  return seen;
}

test("a buffer that a chunk fills is released with the chunk", async () => {
  const seen = await memoryOf(`head -c ${40 * WHOLE} /dev/zero`);

  const filled = seen.filter((chunk) => chunk.filled);
  expect(filled.length).toBeGreaterThan(0);
  expect(filled.every(({ memory }) => memory.detached)).toBe(true);
});

test("a buffer that a chunk shares with other sockets' reads is not released", async () => {
  const seen = await memoryOf(
    `for n in 1 2 3 4 5; do dd if=/dev/zero bs=${WHOLE - 4096} count=1 status=none; sleep 0.05; done`,
  );

  const shared = seen.filter((chunk) => !chunk.filled);
  expect(shared.length).toBeGreaterThan(0);
  expect(shared.some(({ memory }) => memory.detached)).toBe(false);
});
