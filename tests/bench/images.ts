import { spawn } from "node:child_process";
import { once } from "node:events";
import { createCipheriv } from "node:crypto";
import { createReadStream, createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { readSettings } from "@moorage/contract/settings";
import { importBoundsOf, runImporter } from "../../packages/control-plane/src/images/importer/index.ts";
import { imageLimitSettings, imageSettingsOf } from "../../packages/control-plane/src/images/model/settings.ts";
import { startObjectStore } from "../../packages/control-plane/src/testing/object-store.ts";
import { pidOf } from "../../tools/stack/control.ts";
import { imagesOf, numberOf } from "../kit/images.ts";
import { tenant } from "../kit/tenant.ts";
import { processSeconds } from "./cpu.ts";

const MB = 1024 * 1024;
const [leastShare, mostMemoryMb, mostApiSeconds] = [0.8, 150, 1];
/** Parts of the smallest disk, in MB: incompressible data, text, and zeros. */
const [NOISE, TEXT, ZEROS] = [25, 3, 4];

/**
 * Imports an upload of this many MB and compares it with `gzip -dc` of the same file before and after; then does the
 * same through the stack, if it is up, where no data may pass through the API. Returns whether all goals are met.
 */
export async function benchImages(megabytes = 5000): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "moorage-bench-images-"));
  try {
    const file = join(folder, "disk.raw.gz");
    await makeDisk(file, megabytes * 1e6);
    const isFast = await benchImport(file);
    const isDirect = pidOf("api") === undefined || (await benchStack(file));
    return isFast && isDirect;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function benchImport(file: string): Promise<boolean> {
  const { size } = statSync(file);
  await using store = await startObjectStore();
  await put(file, await store.objects.presignPut("uploads/1"));

  const first = await gunzipSeconds(file);
  const head = await store.objects.head("uploads/1");
  const source = head && (await store.objects.open("uploads/1", head));
  if (source === undefined) throw new Error("The upload is not in the store.");
  const started = performance.now();
  const outcome = await runImporter({
    source,
    expectedBytes: size,
    bounds: importBoundsOf(imageSettingsOf(readSettings(imageLimitSettings, {}))),
    put: (name, body, digest) => store.objects.putWhole(`images/1/${name}`, body, { digest }),
    progress: () => {},
    signal: new AbortController().signal,
  });
  const ours = (performance.now() - started) / 1000;
  if (outcome.kind === "refused") throw new Error(outcome.reason.text);
  // Before and after: on a busy machine neither alone is fair.
  const byHand = (first + (await gunzipSeconds(file))) / 2;

  const { raw_bytes, stored_bytes, chunks } = outcome.manifest;
  const [share, memoryMb] = [byHand / ours, Math.round((outcome.peakBytes ?? 0) / MB)];
  const speed = (seconds: number): string => `${seconds.toFixed(1)} s (${Math.round(size / 1e6 / seconds)} MB/s)`;
  console.log(
    `import of ${size} bytes: a disk of ${raw_bytes / MB} MB, ${Math.round(stored_bytes / MB)} MB in ${chunks.length} chunks`,
  );
  console.log(`importer ${speed(ours)}, gzip -dc ${speed(byHand)}: ${share.toFixed(2)} of it (at least ${leastShare})`);
  console.log(`memory of the importer at most ${memoryMb} MB (less than ${mostMemoryMb})`);
  return share >= leastShare && memoryMb < mostMemoryMb;
}

/** Uploads as a tenant does. The data bypass the API: its CPU and I/O meanwhile come only from the polling. */
async function benchStack(file: string): Promise<boolean> {
  const images = imagesOf(tenant());
  const before = apiSoFar();
  const started = performance.now();
  const { image, upload_to } = await images.uploadSurely(`bench-${process.pid}`);
  await put(file, upload_to);
  const sent = (performance.now() - started) / 1000;
  // Polls rarely: the API's work for answering is part of what is measured.
  for (let reply = await images.view(numberOf(image)); reply.body.status !== "available"; ) {
    if (performance.now() - started > 3_600_000) throw new Error("The image is not available after an hour.");
    await setTimeout(5000);
    reply = await images.view(numberOf(image));
  }
  const all = (performance.now() - started) / 1000;
  const [seconds, megabytes] = [apiSoFar().seconds - before.seconds, (apiSoFar().bytes - before.bytes) / MB];
  await images.deleteSurely(numberOf(image));
  console.log(`through the stack: sent after ${sent.toFixed(1)} s, available after ${all.toFixed(1)} s`);
  console.log(
    `the API computed ${seconds.toFixed(2)} s meanwhile (less than ${mostApiSeconds}), and read and wrote ${megabytes.toFixed(2)} MB for its own answers`,
  );
  return seconds < mostApiSeconds && megabytes < statSync(file).size / MB / 100;
}

function apiSoFar(): { seconds: number; bytes: number } {
  const pid = pidOf("api");
  const io = readFileSync(`/proc/${pid}/io`, "utf8");
  const bytes = ["rchar", "wchar"].map((name) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(io)?.[1]));
  return { seconds: processSeconds(pid), bytes: (bytes[0] ?? 0) + (bytes[1] ?? 0) };
}

const gunzipSeconds = (file: string): Promise<number> => secondsOf("gzip", ["-dc", file]);
const put = async (file: string, address: string): Promise<void> => {
  const header = "Content-type: application/octet-stream";
  await secondsOf("curl", ["-sS", "--fail", "-H", header, "-H", "Expect:", "--upload-file", file, address]);
};

async function secondsOf(program: string, args: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${code}.`);
  return (performance.now() - started) / 1000;
}

/** Mostly full, as in the worst case. It ends when this many bytes of gzip were written. */
async function makeDisk(file: string, gzipBytes: number): Promise<void> {
  const output = createWriteStream(file);
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 1), Buffer.alloc(16));
  const zeros = Buffer.alloc(MB);
  const letters = Buffer.from("0123456789abcdefghijklmnopqrstuv");
  const text = (): Buffer => Buffer.from(noise.update(zeros).map((byte) => letters[byte & 31] ?? 0));
  const least = NOISE + TEXT + ZEROS;
  await pipeline(
    async function* () {
      for (let n = 0; output.bytesWritten < gzipBytes - least * MB || n === 0; n++) {
        for (let i = 0; i < NOISE; i++) yield noise.update(zeros);
        for (let i = 0; i < TEXT; i++) yield text();
        for (let i = 0; i < ZEROS; i++) yield zeros;
      }
    },
    createGzip({ level: 1, chunkSize: MB }),
    output,
  );
  // Reads the file once, so that the first reader is not slowed down by the disk.
  for await (const _ of createReadStream(file, { highWaterMark: MB }));
}
