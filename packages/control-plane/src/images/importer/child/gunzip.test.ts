import fc from "fast-check";
import { expect, test } from "vitest";
import { noise } from "../testing/disks.ts";
import { header, member } from "../testing/gzip-file.ts";
import { gunzip } from "./gunzip.ts";
import { createInput } from "./input.ts";
import { Refused } from "./refused.ts";

/** Like the child: every piece is read into the same memory. */
async function unpack(file: Buffer, pieceBytes: number): Promise<Buffer> {
  const memory = Buffer.alloc(pieceBytes);
  let from = 0;
  const input = createInput(async () => {
    const copied = file.copy(memory, 0, from, from + pieceBytes);
    from += copied;
    return memory.subarray(0, copied);
  });
  const parts: Buffer[] = [];
  for await (const raw of gunzip(input, 1000)) parts.push(Buffer.from(raw));
  expect(input.position).toBe(file.length);
  return Buffer.concat(parts);
}

/** Small and large, compressible and not, with all optional header fields. */
const someMembers = fc.array(
  fc
    .record({
      bytes: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 400_000 })),
      isNoise: fc.boolean(),
      level: fc.integer({ min: 0, max: 9 }),
      name: fc.option(fc.constantFrom("disk", "x".repeat(300)), { nil: undefined }),
      hasSum: fc.boolean(),
    })
    .map(({ bytes, isNoise, level, name, hasSum }) => {
      const raw = isNoise ? noise(bytes) : Buffer.alloc(bytes, "ab");
      return { raw, packed: member(raw, { level, hasSum, ...(name === undefined ? {} : { name }) }) };
    }),
  { minLength: 1, maxLength: 6 },
);

test("every byte of a file is read once, in pieces of any size", async () => {
  await fc.assert(
    fc.asyncProperty(someMembers, fc.constantFrom(1, 7, 1000, 65_536, 1_000_000), async (members, pieceBytes) => {
      const file = Buffer.concat(members.map(({ packed }) => packed));
      fc.pre(file.length / pieceBytes < 5000);
      const raw = Buffer.concat(members.map((each) => each.raw));
      expect((await unpack(file, pieceBytes)).equals(raw)).toBe(true);
    }),
    { numRuns: 40 },
  );
});

const first = member(noise(40), { hasSum: true, name: "a" });
const second = member(Buffer.alloc(90, "b"));
const small = Buffer.concat([first, second, member(noise(30))]);
const ends = [first.length, first.length + second.length];

test.each([1, 16, 4096])("a file cut anywhere but between members is refused, in pieces of %i", async (pieceBytes) => {
  for (let bytes = 0; bytes < small.length; bytes++) {
    if (ends.includes(bytes)) continue;
    await expect(unpack(small.subarray(0, bytes), pieceBytes), `of ${bytes} bytes`).rejects.toThrow(Refused);
  }
});

test.each([16, 4096])(
  "a file with any one bit wrong is refused, or means the same, in pieces of %i",
  async (pieceBytes) => {
    const raw = await unpack(small, pieceBytes);
    const wronglyTaken: string[] = [];
    let refused = 0;
    for (let at = 0; at < small.length; at++)
      for (let bit = 0; bit < 8; bit++) {
        const wrong = Buffer.from(small);
        wrong[at] = (wrong[at] ?? 0) ^ (1 << bit);
        const got = await unpack(wrong, pieceBytes).catch((error: unknown) => error);
        if (got instanceof Refused) refused++;
        else if (!(got instanceof Buffer && got.equals(raw)))
          wronglyTaken.push(`byte ${at}, bit ${bit}: ${String(got)}`);
      }
    expect(wronglyTaken).toEqual([]);
    // All but time, level and system of a header without a checksum, and padding bits.
    expect(refused).toBeGreaterThan(small.length * 8 * 0.8);
  },
);

test("a header may be as long as its fields' limits, and no longer", async () => {
  const most = 32 * 1024;
  const named = (bytes: number): Buffer =>
    Buffer.concat([header({ name: "n".repeat(bytes - 1) }), member(noise(10)).subarray(10)]);
  expect(await unpack(named(most), 5000)).toEqual(noise(10));
  await expect(unpack(named(most + 1), 5000)).rejects.toThrow(
    '{"code":"gzipHeaderTooLong","args":{"start":0,"maxBytes":32768}}',
  );
});
