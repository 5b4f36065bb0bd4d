/** Bytes that arrive in pieces. */
export type Input = {
  /** Read and not yet consumed. The next `fill` overwrites them. */
  readonly rest: Buffer;
  /** How many bytes were consumed so far. */
  readonly position: number;
  use: (bytes: number) => void;
  /** Reads more once everything is consumed. False at the end. */
  fill: () => Promise<boolean>;
  /** Exactly this many, or fewer at the end. For small numbers. */
  take: (bytes: number) => Promise<Buffer>;
};

/** `read` overwrites what it returned before. An empty result is the end. */
export function createInput(read: () => Promise<Buffer>): Input {
  let piece: Buffer = Buffer.alloc(0);
  let [from, before] = [0, 0];

  const fill = async (): Promise<boolean> => {
    if (from < piece.length) return true;
    before += piece.length;
    from = 0;
    piece = await read();
    return piece.length > 0;
  };
  return {
    get rest() {
      return piece.subarray(from);
    },
    get position() {
      return before + from;
    },
    use: (bytes) => {
      from += bytes;
    },
    fill,
    async take(bytes) {
      const taken = Buffer.alloc(bytes);
      let filled = 0;
      while (filled < bytes && (await fill())) {
        const copied = piece.copy(taken, filled, from, from + bytes - filled);
        filled += copied;
        from += copied;
      }
      return taken.subarray(0, filled);
    },
  };
}
