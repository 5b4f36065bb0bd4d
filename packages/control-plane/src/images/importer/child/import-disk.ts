import { createHash } from "node:crypto";
import { type CutChunk, createCutter } from "@moorage/disk-image/cutter";
import type { DiskManifest, DiskFault } from "@moorage/disk-image";
import { createInspection } from "@moorage/disk-image/inspection";
import { MB } from "../../model/units.ts";
import type { ImportBounds } from "../bounds.ts";
import type { Refusal } from "../refusal.ts";
import { gunzip } from "./gunzip.ts";
import { createInput } from "./input.ts";
import { Refused, refuse } from "./refused.ts";

/** What the parent reads as a verdict. */
type ImportResult =
  | { kind: "taken"; manifest: DiskManifest; upload_sha256: string }
  | { kind: "refused"; reason: Refusal };

export type ImportIo = {
  read: () => Promise<Buffer>;
  put: (chunk: CutChunk) => Promise<void>;
  progress: (bytes: number) => Promise<void>;
  cpuSeconds: () => number;
};

/** Turns the bytes of an upload into the chunks of a disk, or returns the reason to refuse it. */
export async function importDisk(io: ImportIo, bounds: ImportBounds): Promise<ImportResult> {
  const hash = createHash("sha256");
  let uploaded = 0;
  const input = createInput(async () => {
    const bytes = await io.read();
    hash.update(bytes);
    uploaded += bytes.length;
    if (uploaded > bounds.uploadBytes) refuse("uploadAboveLimit", { maxBytes: bounds.uploadBytes });
    if (io.cpuSeconds() > bounds.cpuSeconds) refuse("uploadCpuLimit", { seconds: bounds.cpuSeconds });
    await io.progress(uploaded);
    return bytes;
  });
  const inspection = createInspection();
  const cutter = createCutter({ put: io.put, atOnce: 1 });
  const object = (fault: DiskFault | undefined): void => {
    if (fault !== undefined) refuse("diskUnusable", fault);
  };
  const boundContent = (): void => {
    if (cutter.keptBytes > bounds.keptBytes) refuse("diskContentLimit", { maxMb: bounds.keptBytes / MB });
  };

  try {
    for await (const raw of gunzip(input, bounds.members)) {
      if (cutter.rawBytes + raw.length > bounds.rawBytes) refuse("diskTooLarge", { maxMb: bounds.rawBytes / MB });
      object(inspection.inspect(raw));
      await cutter.write(raw);
      boundContent();
    }
    object(inspection.end());
    const manifest = await cutter.end();
    boundContent();
    return { kind: "taken", manifest, upload_sha256: hash.digest("hex") };
  } catch (error) {
    if (error instanceof Refused) return { kind: "refused", reason: error.reason };
    throw error;
  }
}
