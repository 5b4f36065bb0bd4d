import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { readToEnd } from "./read-to-end.ts";

const DATA = Buffer.from("0123456789");

/** Returns this many bytes at each opening, and then breaks. */
function breaking(...parts: number[]) {
  const opened: number[] = [];
  const openAt = async (from: number): Promise<Readable> => {
    const most = parts[opened.length] ?? DATA.length;
    opened.push(from);
    return Readable.from(
      (async function* () {
        if (most > 0) yield DATA.subarray(from, from + most);
        if (from + most < DATA.length) throw new Error("cut");
      })(),
    );
  };
  return { opened, openAt };
}

async function read(openAt: (from: number) => Promise<Readable | undefined>, signal?: AbortSignal): Promise<string> {
  const first = (await openAt(0)) as Readable;
  const pieces = await Array.fromAsync(readToEnd({ bytes: DATA.length, first, openAt, signal }));
  return Buffer.concat(pieces).toString();
}

test("a broken stream is resumed where it broke", async () => {
  const { opened, openAt } = breaking(3, 0, 4);
  expect([await read(openAt), opened]).toEqual(["0123456789", [0, 3, 3, 7]]);
});

test("a stream that breaks repeatedly without a byte is given up", async () => {
  const { openAt } = breaking(...Array.from({ length: 10 }, () => 0));
  await expect(read(openAt)).rejects.toThrow("cut");
});

test("a stream that ends early without an error is resumed", async () => {
  let opened = 0;
  const openAt = async (from: number) => Readable.from([DATA.subarray(from, opened++ === 0 ? 4 : DATA.length)]);
  expect(await read(openAt)).toBe("0123456789");
});

test("content that was replaced meanwhile is not joined with what was read", async () => {
  const { openAt } = breaking(3);
  let opened = 0;
  await expect(read((from) => (opened++ === 0 ? openAt(from) : Promise.resolve(undefined)))).rejects.toThrow(
    "replaced",
  );
});

test("an aborted stream is not resumed", async () => {
  const { opened, openAt } = breaking(3);
  await expect(read(openAt, AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
  expect(opened).toEqual([0]);
});
