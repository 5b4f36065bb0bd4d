import { crc32, deflateSync } from "node:zlib";
import sharp from "sharp";

type Size = { width: number; height: number };

/** Drawn by a library. */
export const picture = ({ width = 300, height = 200, background = "#1f6feb" } = {}) =>
  sharp({ create: { width, height, channels: 3, background } });

const chunk = (type: string, data: Uint8Array): Buffer => {
  const named = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
};

/** Written by hand: a library would not write most of what hostile files contain. */
export function png(
  { width, height }: Size,
  more: readonly Buffer[] = [],
  pixels: Buffer = Buffer.alloc((width + 1) * height),
) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", header),
    ...more,
    chunk("IDAT", deflateSync(pixels, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Text that is small in the file and large in memory. */
export const compressedText = (bytes: number): Buffer =>
  chunk("zTXt", Buffer.concat([Buffer.from("Comment\0\0"), deflateSync(Buffer.alloc(bytes, 65), { level: 9 })]));

export const text = (words: string): Buffer => chunk("tEXt", Buffer.from(`Comment\0${words}`));
