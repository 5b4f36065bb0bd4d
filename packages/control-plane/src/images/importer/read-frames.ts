import { CHUNK_BYTES } from "@moorage/disk-image";
import { MOST_STORED_BYTES } from "@moorage/disk-image/cutter";
import { FRAME_HEADER_BYTES, type FrameHeader, parseFrameHeader } from "./frames.ts";

export type Frame = FrameHeader & { body: Buffer };

/**
 * The chunks from the child, each index once, in buffers of `memory`. The child's output is trusted no more than its
 * input.
 */
export async function* readFrames(
  output: AsyncIterable<Buffer>,
  rawBytes: number,
  memory: () => Buffer,
): AsyncGenerator<Frame> {
  const seen = new Set<number>();
  let header: FrameHeader | undefined;
  let part: Buffer = Buffer.alloc(FRAME_HEADER_BYTES);
  let filled = 0;
  for await (const piece of output)
    for (let from = 0; from < piece.length; ) {
      const copied = piece.copy(part, filled, from);
      [from, filled] = [from + copied, filled + copied];
      if (filled < part.length) continue;
      if (header === undefined) {
        header = parseFrameHeader(part);
        if (header.bytes === 0 || header.bytes > MOST_STORED_BYTES || header.index * CHUNK_BYTES >= rawBytes)
          throw new Error(`The importer gave a chunk ${header.index} of ${header.bytes} bytes.`);
        if (seen.has(header.index)) throw new Error(`The importer gave chunk ${header.index} twice.`);
        seen.add(header.index);
        [part, filled] = [memory().subarray(0, header.bytes), 0];
      } else {
        yield { ...header, body: part };
        header = undefined;
        [part, filled] = [Buffer.alloc(FRAME_HEADER_BYTES), 0];
      }
    }
  if (header !== undefined || filled > 0) throw new Error("The importer ended within a chunk.");
}
