import { createHash, randomBytes } from "node:crypto";
import { setImmediate as later } from "node:timers/promises";
import { expect, test } from "vitest";
import { partBytes } from "./manifest.ts";
import type { Body } from "../base/put-objects.ts";
import { uploadParts } from "./upload.ts";

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

async function* chunks(whole: Buffer, length: number) {
  for (let from = 0; from < whole.length; from += length) yield whole.subarray(from, from + length);
}

/** Records what is uploaded; slow enough to reveal a buffer that is reused too early. */
function slowStore() {
  const stored = new Map<string, Buffer>();
  let most = 0;
  let running = 0;
  const put = async (name: string, body: Body): Promise<void> => {
    most = Math.max(most, ++running);
    for (let n = 0; n < 20; n++) await later();
    stored.set(name, Buffer.from("buffer" in body ? body.buffer : ""));
    running -= 1;
  };
  return { put, stored, most: () => most };
}

test.each([1, partBytes - 1, partBytes, partBytes + 1, 5 * partBytes + 12_345])(
  "the parts of %i bytes join to the input, with at most two uploads at once",
  async (length) => {
    const whole = randomBytes(length);
    const store = slowStore();
    const parts = await uploadParts(chunks(whole, 65_536), "id", store);
    const names = [...store.stored.keys()].sort();
    expect(Buffer.concat(names.map((name) => store.stored.get(name) as Buffer)).equals(whole)).toBe(true);
    expect(parts).toEqual(
      names.map((name) => ({
        bytes: store.stored.get(name)?.length,
        sha256: sha256(store.stored.get(name) as Buffer),
      })),
    );
    expect(parts.slice(0, -1).every(({ bytes }) => bytes === partBytes)).toBe(true);
    expect(store.most()).toBeLessThanOrEqual(2);
  },
);

test("a part that cannot be stored fails the upload", async () => {
  const put = (name: string): Promise<void> =>
    name.endsWith("2") ? Promise.reject(new Error("no")) : Promise.resolve();
  await expect(uploadParts(chunks(randomBytes(3 * partBytes), 65_536), "id", { put })).rejects.toThrow("no");
});
