import type { Text } from "@moorage/contract/texts";
import type { Principal } from "#identity/index.ts";
import { DomainError } from "#platform/errors.ts";
import { limitConcurrency } from "#platform/limits/limit-concurrency.ts";
import { lockClient } from "./client-store.ts";
import { type ClientDeps, recordClientChange } from "./change-client.ts";
import { texts } from "./texts.ts";
import { saveThumbnail } from "./thumbnail-store.ts";

type MakeThumbnail = (file: Buffer) => Promise<Buffer>;

const SIDE = 128;
const MOST_SIDE = 4096;
const MOST_SECONDS = 5;
/** A decoded image can take a thousand times the memory of its file. */
const AT_ONCE = 2;
const MOST_WAITING = 20;

/** The first bytes of each format. The caller's content type is not trusted. */
const signatures = [
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  Buffer.from([0xff, 0xd8, 0xff]),
  Buffer.from("GIF87a"),
  Buffer.from("GIF89a"),
];

/** The image is decoded before the transaction begins: decoding is slow and must not hold locks. */
export async function putThumbnail(
  { db, clock, makeThumbnail }: ClientDeps & { makeThumbnail: MakeThumbnail },
  by: Principal,
  id: string,
  file: Buffer,
): Promise<void> {
  const png = await makeThumbnail(file);
  await db.transaction().execute(async (tx) => {
    const at = clock();
    const client = await lockClient(tx, by.accountId, id);
    await saveThumbnail(tx, id, png, at);
    await recordClientChange(tx, by, client, {
      audited: "update_oauth_client",
      event: "oauth_client_update",
      detail: { fields: ["thumbnail"] },
      at,
    });
  });
}

/**
 * Decodes an untrusted image and renders it again: a PNG of 128×128 with the whole image, uncropped, and nothing else
 * from the file. Of an animation, the first frame.
 */
export function createThumbnailer(mostSeconds = MOST_SECONDS): MakeThumbnail {
  const limit = limitConcurrency({ atOnce: AT_ONCE, mostWaiting: MOST_WAITING });
  return async (file) => {
    if (!signatures.some((signature) => file.subarray(0, signature.length).equals(signature)))
      throw refusal(texts.thumbnailNotPicture());
    return limit(() => draw(file, mostSeconds));
  };
}

async function draw(file: Buffer, mostSeconds: number): Promise<Buffer> {
  const sharp = await loadSharp();
  const unreadable = (): never => {
    throw refusal(texts.thumbnailUnreadable());
  };
  const { width, height } = await sharp(file, { limitInputPixels: false }).metadata().catch(unreadable);
  if (width > MOST_SIDE || height > MOST_SIDE)
    throw refusal(texts.thumbnailTooLarge({ width, height, most: MOST_SIDE, shown: SIDE }));
  return sharp(file, { failOn: "warning", limitInputPixels: MOST_SIDE * MOST_SIDE, sequentialRead: true })
    .autoOrient()
    .resize(SIDE, SIDE, { fit: "contain", background: { r: 0, g: 0, b: 0, alpha: 0 } })
    .timeout({ seconds: mostSeconds })
    .png({ compressionLevel: 9 })
    .toBuffer()
    .catch(unreadable);
}

/** Loaded with the first image: most processes never get one. */
let loaded: Promise<typeof import("sharp")> | undefined;
async function loadSharp(): Promise<typeof import("sharp").default> {
  loaded ??= import("sharp").then((module) => {
    const { default: sharp } = module;
    sharp.cache(false);
    sharp.concurrency(1);
    // The library reads many more formats, each with its own vulnerabilities.
    sharp.block({ operation: ["VipsForeignLoad"] });
    sharp.unblock({
      operation: ["VipsForeignLoadPngBuffer", "VipsForeignLoadJpegBuffer", "VipsForeignLoadNsgifBuffer"],
    });
    return module;
  });
  return (await loaded).default;
}

const refusal = (reason: Text): DomainError => new DomainError("invalid", { reason });
