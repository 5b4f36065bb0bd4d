import { createHash, randomUUID } from "node:crypto";
import { type Capture, type ImageUploadsRequest, PROTOCOL, type UploadsReply } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import { CHUNK_BYTES, chunkName, createCutter, type CutChunk, type DiskManifest, MANIFEST } from "@moorage/disk-image";
import { type Body, createPuts, type Puts } from "../base/put-objects.ts";
import { type Device, openDevice } from "./open-device.ts";

export type CaptureDeps = {
  /** Disks may be read only below these. */
  folders: readonly string[];
  imageUploads: (message: ImageUploadsRequest, signal: AbortSignal) => Promise<UploadsReply>;
};
export type CaptureOrder = { signal: AbortSignal; progress: (percent: number) => void };

export const captureSteps = ["disk", "chunk", "manifest"].map((name) => `agent.capture.${name}`);

const readBytes = 4 * 1024 * 1024;
/** Reported progress when all is read; the manifest and the control plane's check are the rest. */
const readPercent = 99;

/**
 * One try to upload a disk to the store, in a folder of its own: the disk may have changed since an earlier try, so
 * chunks of two tries must not mix. The manifest is the last object: a folder without one is incomplete.
 */
export const captureDisk = (deps: CaptureDeps, capture: Capture, order: CaptureOrder): Promise<{ content: string }> =>
  step("agent.capture.disk", async () => {
    const device = await openDevice(capture.device, { folders: deps.folders, maxBytes: capture.max_bytes });
    const content = randomUUID();
    // A failed chunk aborts the other uploads in flight.
    const end = new AbortController();
    const signal = AbortSignal.any([order.signal, end.signal]);
    const puts = createPuts(
      (names) => deps.imageUploads({ protocol: PROTOCOL, capture: capture.id, content, names }, signal),
      signal,
    );
    try {
      const manifest = await bringChunks(device, puts, { ...order, signal });
      await device.requireSameLength();
      const body = bodyOf(Buffer.from(JSON.stringify(manifest)));
      await step("agent.capture.manifest", () => puts.put(MANIFEST, body));
      return { content };
    } finally {
      end.abort();
      await puts.close();
      await device.close();
    }
  });

/** The cutter bounds memory: it waits while too many chunks are in flight. */
async function bringChunks(device: Device, puts: Puts, { signal, progress }: CaptureOrder): Promise<DiskManifest> {
  const last = Math.ceil(device.bytes / CHUNK_BYTES) - 1;
  const ahead = (index: number) => (n: number) =>
    Array.from({ length: Math.min(n, last - index) }, (_, next) => chunkName(index + 1 + next));
  const put = ({ index, body }: CutChunk): Promise<void> =>
    step("agent.capture.chunk", () => puts.put(chunkName(index), bodyOf(body), ahead(index)));
  const cutter = createCutter({ put });
  const buffer = Buffer.allocUnsafeSlow(readBytes);
  for (let from = 0; from < device.bytes; from += readBytes) {
    signal.throwIfAborted();
    const part = buffer.subarray(0, Math.min(readBytes, device.bytes - from));
    await device.read(part, from);
    await cutter.write(part);
    progress(Math.floor(((from + part.length) / device.bytes) * readPercent));
  }
  return cutter.end();
}

const bodyOf = (buffer: Buffer): Body => ({
  buffer,
  bytes: buffer.length,
  md5: createHash("md5").update(buffer).digest("base64"),
});
