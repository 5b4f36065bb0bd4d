import type { TransformOptions } from "node:stream";
import { createInflateRaw, inflateRawSync, type InflateRaw, type ZlibOptions } from "node:zlib";
import { release } from "@moorage/disk-image/cutter";
import { inflateFaultOf } from "../inflate-faults.ts";
import { cutShort } from "./gzip-header.ts";
import type { Input } from "./input.ts";
import { refuse } from "./refused.ts";

const OUTPUT_BYTES = 256 * 1024;
/**
 * Zlib's streams accept every stream option, but their types omit them. In object mode pieces stay separate: in byte
 * mode two waiting pieces would be copied into one.
 */
const options: ZlibOptions & TransformOptions = {
  chunkSize: OUTPUT_BYTES,
  readableObjectMode: true,
  readableHighWaterMark: 2,
};
/** The most output of one call, and how much input it gets at a time: most members need less. */
const [SMALL_BYTES, SMALL_STEP_BYTES] = [128 * 1024, 16 * 1024];

/**
 * Inflates one deflate stream and consumes exactly its bytes of the input. Zlib's own gzip reader is not used: it
 * ignores whatever follows the last member. A piece is valid only until the next is requested.
 */
export async function* inflateStream(input: Input): AsyncGenerator<Buffer> {
  const inflate = createInflateRaw(options);
  const feeding = feed(inflate, input);
  feeding.catch(() => inflate.destroy());
  try {
    for await (const raw of inflate as AsyncIterable<Buffer>) {
      yield raw;
      // Zlib fills a buffer to its end before it allocates another: after its last piece nothing uses the buffer.
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
  // After a failure zlib does not call back: it closes.
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
    // Some input is left: the stream has ended or failed, and the reader of its output gets either.
    if (used < rest.length) return;
  }
  inflate.end();
}

/**
 * The same in one call, if all input is in memory and the output is small: files of a million small members exist, and
 * a stream for each takes too long. Undefined: not such a member, and nothing was consumed.
 */
export function inflateSmall(input: Input): Buffer | undefined {
  try {
    const { buffer, engine } = inflateRawSync(input.rest, {
      info: true,
      maxOutputLength: SMALL_BYTES,
      chunkSize: SMALL_STEP_BYTES,
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
  if (code === "Z_BUF_ERROR") cutShort(input.position);
  if (code !== "Z_DATA_ERROR") return error;
  return refuse("gzipDamaged", { position: input.position, fault: inflateFaultOf(message) });
}
