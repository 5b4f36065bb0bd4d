import { createHash } from "node:crypto";
import { PROTOCOL, type UploadsReply, type UploadsRequest } from "@moorage/contract/agent";
import { type Manifest, partBytes, partName } from "./manifest.ts";
import { createPuts } from "../base/put-objects.ts";
import type { ArchivedNode } from "./archived-node.ts";

export type UploadDeps = { uploads: (message: UploadsRequest, signal: AbortSignal) => Promise<UploadsReply> };

/** Uploads objects of one node's timeline to the store. */
export const createUpload = (deps: UploadDeps, { spec, data }: ArchivedNode, signal: AbortSignal) =>
  createPuts(
    (names) => deps.uploads({ protocol: PROTOCOL, node: spec.node, timeline: data.timeline, names }, signal),
    signal,
  );
export type Upload = ReturnType<typeof createUpload>;

const inFlight = 2;

/**
 * Cuts a stream into the parts of a copy and uploads them. Memory is bounded by buffers allocated at the start: one
 * being filled and those being uploaded. The stream waits while no buffer is free.
 */
export async function uploadParts(
  stream: AsyncIterable<Buffer>,
  id: string,
  upload: Pick<Upload, "put">,
): Promise<Manifest["parts"]> {
  const free = Array.from({ length: inFlight + 1 }, () => Buffer.allocUnsafeSlow(partBytes));
  const parts: Manifest["parts"] = [];
  const running = new Set<Promise<void>>();
  const [sha256, md5] = [() => createHash("sha256"), () => createHash("md5")];
  const begin = (buffer: Buffer<ArrayBuffer>) => ({ buffer, length: 0, sha256: sha256(), md5: md5() });
  let part = begin(free.pop() as Buffer<ArrayBuffer>);

  async function send(): Promise<void> {
    const { buffer, length } = part;
    const number = parts.push({ bytes: length, sha256: part.sha256.digest("hex") });
    const body = { buffer: buffer.subarray(0, length), bytes: length, md5: part.md5.digest("base64") };
    const ahead = (n: number) => Array.from({ length: n }, (_, index) => partName(id, number + 1 + index));
    while (running.size >= inFlight) await Promise.race(running);
    const sent = upload.put(partName(id, number), body, ahead).then(() => {
      running.delete(sent);
      free.push(buffer);
    });
    running.add(sent);
    // A failure is thrown by the next await; until then it must not count as unhandled.
    sent.catch(() => {});
    part = begin(free.pop() as Buffer<ArrayBuffer>);
  }

  for await (const chunk of stream) {
    for (let from = 0; from < chunk.length; ) {
      const piece = chunk.subarray(from, from + partBytes - part.length);
      part.buffer.set(piece, part.length);
      part.sha256.update(piece);
      part.md5.update(piece);
      part.length += piece.length;
      from += piece.length;
      if (part.length === partBytes) await send();
    }
  }
  if (part.length > 0) await send();
  await Promise.all(running);
  return parts;
}
