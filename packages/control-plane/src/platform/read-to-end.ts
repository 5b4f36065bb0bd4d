import type { Readable } from "node:stream";

/** A broken stream is resumed where it broke, until it breaks this often without a byte in between. */
const BREAKS = 4;
const PAUSE_MS = 500;

class Replaced extends Error {
  override readonly name = "Replaced";
}

export type LongRead = {
  bytes: number;
  first: Readable;
  /** The same content from an offset. Undefined: it does not exist any more. */
  openAt: (from: number) => Promise<Readable | undefined>;
  signal?: AbortSignal | undefined;
};

/** A stream of minutes may be cut: by a proxy, a restart, or because its reader was slow. */
export async function* readToEnd({ bytes, first, openAt, signal }: LongRead): AsyncGenerator<Buffer> {
  let opened: Readable | undefined = first;
  let [read, breaks] = [0, 0];
  do {
    try {
      const body: Readable | undefined = opened ?? (await openAt(read));
      opened = undefined;
      if (body === undefined) throw new Replaced("The object was replaced or deleted while it was read.");
      for await (const piece of body as AsyncIterable<Buffer>) {
        read += piece.length;
        breaks = 0;
        yield piece;
      }
      if (read < bytes) throw new Error(`The object store sent ${read} of ${bytes} bytes.`);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof Replaced || ++breaks > BREAKS) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  } while (read < bytes);
}
