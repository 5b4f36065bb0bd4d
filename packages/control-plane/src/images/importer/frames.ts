/** The header of a chunk from the child: index, length, sha256; its bytes follow. */
export const FRAME_HEADER_BYTES = 40;

export type FrameHeader = { index: number; bytes: number; sha256: string };

export function frameHeader({ index, bytes, sha256 }: FrameHeader): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUInt32LE(index, 0);
  header.writeUInt32LE(bytes, 4);
  header.write(sha256, 8, "hex");
  return header;
}

export const parseFrameHeader = (header: Buffer): FrameHeader => ({
  index: header.readUInt32LE(0),
  bytes: header.readUInt32LE(4),
  sha256: header.toString("hex", 8, FRAME_HEADER_BYTES),
});
