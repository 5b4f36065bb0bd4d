import type { TransformOptions } from "node:stream";
import { createInflateRaw, inflateRawSync, type InflateRaw, type ZlibOptions } from "node:zlib";
import { release } from "@moorage/disk-image/cutter";
import { cutShort } from "./gzip-header.ts";
import type { Input } from "./input.ts";
import { refuse } from "./refused.ts";

const OUTPUT_BYTES = 256 * 1024;
/**
 * Zlib's streams take what every stream does, which its types leave out. As objects its pieces stay what they are: as
 * bytes they would be copied into one whenever two are there.
 */
const options: ZlibOptions & TransformOptions = {
  ...{ chunkSize: OUTPUT_BYTES, readableObjectMode: true, readableHighWaterMark: 2 },
};
/** As much as comes out at once, and what is asked for at a time: most need less. */
const [SMALL_BYTES, SMALL_STEP_BYTES] = [128 * 1024, 16 * 1024];

/**
 * Inflates one stream of deflate and uses exactly its bytes of the input. Nothing of zlib's own reading of gzip is
 * used: it passes over whatever follows the last member. A piece is only lent, until the next is asked for.
 */
export async function* inflateStream(input: Input): AsyncGenerator<Buffer> {
  const inflate = createInflateRaw(options);
  const feeding = feed(inflate, input);
  feeding.catch(() => inflate.destroy());
  try {
    for await (const raw of inflate as AsyncIterable<Buffer>) {
      yield raw;
      // Zlib fills its memory to the end before it takes new one: behind the last piece nobody needs it.
      if (raw.byteOffset + raw.length === raw.buffer.byteLength) release(raw);
    }
    await feeding;
  } catch (error) {
    await feeding;
    throw readable(error, input);
  } finally {
    inflate.destroy();
  }
}

async function feed(inflate: InflateRaw, input: Input): Promise<void> {
  // Zlib never answers for what it failed on: it closes.
  let closed = (): void => {};
  inflate.once("close", () => closed());
  while (await input.fill()) {
    const [{ rest }, before] = [input, inflate.bytesWritten];
    await new Promise<void>((resolve) => {
      closed = resolve;
      inflate.write(rest, () => resolve());
    });
    const used = inflate.bytesWritten - before;
    input.use(used);
    // It left some: the stream has ended, or failed, which whoever reads what comes out is told.
    if (used < rest.length) return;
  }
  inflate.end();
}

/**
 * The same at once, if all of it is in hand and little comes out: files of a million small members exist, and for
 * these a stream each takes long. Undefined: it is not so, and nothing was used.
 */
export function inflateSmall(input: Input): Buffer | undefined {
  try {
    const { buffer, engine } = inflateRawSync(input.rest, {
      ...{ info: true, maxOutputLength: SMALL_BYTES, chunkSize: SMALL_STEP_BYTES },
    }) as unknown as { buffer: Buffer; engine: InflateRaw };
    input.use(engine.bytesWritten);
    return buffer;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "Z_BUF_ERROR" || code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw readable(error, input);
  }
}

function readable(error: unknown, input: Input): unknown {
  const { code, message } = error as { code?: string; message: string };
  if (code === "Z_BUF_ERROR") cutShort(`after ${input.position} bytes`);
  if (code !== "Z_DATA_ERROR") return error;
  return refuse(`The gzip data is damaged near byte ${input.position} (${message}). Compress the raw disk again.`);
}
