import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { Text } from "@moorage/contract/texts";
import { chunkName, type DiskManifest, MOST_STORED_BYTES, releaseIfWhole } from "@moorage/disk-image";
import type { ImportBounds } from "./bounds.ts";
import { startChild } from "./child-process.ts";
import type { FrameHeader } from "./frames.ts";
import { readFrames } from "./read-frames.ts";
import type { ReadingPipe } from "./reading-pipe.ts";
import { texts } from "./texts.ts";
import { Report, type Verdict } from "./verdict.ts";

/** Of one line; the verdict on the largest disk is far smaller. */
const MOST_REPORT_BYTES = 64 * 1024 * 1024;
const PUTS_AT_ONCE = 4;

export type ImportOrder = {
  /** Its pieces are consumed: no other code may need them. */
  source: Readable;
  /** The size according to the store. Another number of bytes is a fault of this installation. */
  expectedBytes: number;
  bounds: ImportBounds;
  /**
   * The body is valid only until the put completes, then its memory is reused. `digest` is its sha256, for the store to
   * compare.
   */
  put: (name: string, body: Buffer, digest: Buffer) => Promise<void>;
  /** The number of bytes of the upload that were read so far. */
  progress: (bytes: number) => void;
  signal: AbortSignal;
};
export type ImportOutcome = (
  | { kind: "taken"; manifest: DiskManifest; uploadSha256: string }
  | { kind: "refused"; reason: Text }
) & { /** The peak memory of the process. */ peakBytes?: number };

/**
 * Turns an upload into the chunks of a disk, by a confined process. The caller stores the manifest. `refused` means
 * that the data are at fault; any other fault is thrown, and may be retried. When it returns or throws, the child has
 * ended and no put is in progress.
 */
export async function runImporter(order: ImportOrder): Promise<ImportOutcome> {
  const { source, expectedBytes, bounds, signal } = order;
  if (expectedBytes > bounds.uploadBytes) {
    source.destroy();
    return { kind: "refused", reason: texts.uploadAboveLimit({ maxBytes: bounds.uploadBytes }) };
  }
  const stop = new AbortController();
  const fail = (fault: unknown): void => stop.abort(fault);
  const child = await startChild(bounds, fail);
  stop.signal.addEventListener("abort", child.kill);
  const passOn = (): void => fail(signal.reason);
  signal.addEventListener("abort", passOn);
  if (signal.aborted) passOn();
  const timer = setTimeout(
    () => fail(new Error(`The import did not end within ${bounds.seconds} seconds.`)),
    bounds.seconds * 1000,
  );
  void feed(source, expectedBytes, child.upload).catch(fail);
  const kept = keepChunks(child.chunks, order).catch(fail);
  try {
    const verdict = await readReports(child.reports, order.progress);
    const peakBytes = child.peakBytes();
    if (verdict?.kind === "refused") return { ...verdict, peakBytes };
    if (verdict !== undefined) {
      child.kill();
      const came = await kept;
      if (came !== undefined) requireSame(verdict.manifest, came);
    }
    if (stop.signal.aborted) throw stop.signal.reason as Error;
    if (verdict === undefined) throw new Error(`The importer ended without a verdict: ${await child.ended}`);
    return { kind: "taken", manifest: verdict.manifest, uploadSha256: verdict.upload_sha256, peakBytes };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", passOn);
    source.destroy();
    child.kill();
    child.chunks.close();
    // Does not wait for the source: one that hangs may never end.
    await Promise.all([kept, child.ended]);
  }
}

/**
 * The end of the data is passed on only when they are complete: data that were cut in transit must not be judged. With
 * events: a loop over the stream would copy everything once more.
 */
async function feed(source: Readable, expectedBytes: number, upload: Writable): Promise<void> {
  let bytes = 0;
  upload.on("drain", () => source.resume());
  source.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > expectedBytes)
      source.destroy(new Error(`The store gave more than the ${expectedBytes} bytes of the upload.`));
    else if (!upload.write(piece, () => releaseIfWhole(piece))) source.pause();
  });
  await finished(source);
  if (bytes < expectedBytes) throw new Error(`The store gave ${bytes} of the ${expectedBytes} bytes of the upload.`);
  upload.end();
}

async function keepChunks({ pieces }: ReadingPipe, { bounds, put }: ImportOrder): Promise<FrameHeader[]> {
  const kept: FrameHeader[] = [];
  const underWay = new Set<Promise<void>>();
  const spare: Buffer[] = [];
  const memory = (): Buffer => spare.pop() ?? Buffer.allocUnsafeSlow(MOST_STORED_BYTES);
  try {
    for await (const { body, ...frame } of readFrames(pieces, bounds.rawBytes, memory)) {
      kept.push(frame);
      // A failed one stays in the set, and the next wait throws its error.
      const work: Promise<void> = put(chunkName(frame.index), body, Buffer.from(frame.sha256, "hex")).then(() => {
        underWay.delete(work);
        spare.push(Buffer.from(body.buffer));
      });
      work.catch(() => {});
      underWay.add(work);
      if (underWay.size >= PUTS_AT_ONCE) await Promise.race(underWay);
    }
    await Promise.all(underWay);
    return kept;
  } finally {
    await Promise.allSettled(underWay);
  }
}

/** The verdict; undefined if the child ended without one. */
async function readReports(
  pipe: AsyncIterable<Buffer>,
  progress: (bytes: number) => void,
): Promise<Verdict | undefined> {
  let rest = "";
  for await (const piece of pipe) {
    const lines = (rest + piece.toString("utf8")).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MOST_REPORT_BYTES) throw new Error("The importer reported without end.");
    for (const line of lines) {
      const report = Report.parse(JSON.parse(line));
      if (report.kind !== "progress") return report;
      progress(report.bytes);
    }
  }
  return undefined;
}

/** The chunks that the child names are those that arrived. */
function requireSame({ chunks }: DiskManifest, kept: readonly FrameHeader[]): void {
  const came = kept.toSorted((a, b) => a.index - b.index);
  const same = ({ index, bytes, sha256 }: FrameHeader, other: FrameHeader | undefined): boolean =>
    index === other?.index && bytes === other.bytes && sha256 === other.sha256;
  if (chunks.length !== came.length || !chunks.every((chunk, place) => same(chunk, came[place])))
    throw new Error("The importer's manifest is not of the chunks that it gave.");
}
