import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("image", {
  deleted: text(() => "The image was deleted."),
  deletedBeforeUpload: text(() => "The image was deleted before its data arrived."),
  uploadMissing: text(
    ({ hours }: { hours: number }) =>
      `No data arrived within ${hours} hours, so the image was removed. To try again, create a new image and upload its data within that time.`,
    { hours: 24 },
  ),
  uploadTooLarge: text(
    ({ bytes, maxBytes }: { bytes: number; maxBytes: number }) =>
      `The upload has ${bytes} bytes; at most ${maxBytes} bytes of compressed data are accepted. Make the disk smaller, or fill its unused space with zeros before you compress it.`,
    { bytes: 6_000_000_000, maxBytes: 5_000_000_000 },
  ),
  importDeadlineExceeded: text(
    () =>
      "The import did not complete in time. The uploaded data are not the cause: upload the same data again as a new image.",
  ),
  regionUnknown: text<[{ regions: readonly string[] }]>(({ regions }) => `one of ${regions.join(", ")}`, {
    regions: ["eu-central", "us-east"],
  }),
  sizeLimit: text(
    ({ maxMb, mb }: { maxMb: number; mb: number }) =>
      `Limit reached: at most ${maxMb} MB uncompressed per image, and this image has ${mb} MB. Make its disk smaller, or request a higher limit from the operator.`,
    { maxMb: 6144, mb: 8192 },
  ),
  countLimit: text(
    ({ max, count }: { max: number; count: number }) =>
      `Limit reached: at most ${max} images per account, and this one would be number ${count}. Delete an image, or request a higher limit from the operator.`,
    { max: 25, count: 26 },
  ),
  totalSizeLimit: text(
    ({ maxMb, mb }: { maxMb: number; mb: number }) =>
      `Limit reached: at most ${maxMb} MB for all images of an account, and with this one they would have ${mb} MB. Delete an image, or request a higher limit from the operator.`,
    { maxMb: 102_400, mb: 104_000 },
  ),

  publicImageReadOnly: text(() => "Unauthorized: only the operator can change public images."),
  publishedUnderOtherName: text(
    ({ id, wireId }: { id: number; wireId: string }) => `Image ${id} is already public as ${wireId}.`,
    { id: 7, wireId: "operator/debian-12" },
  ),
  notAvailable: text(
    ({ id, status }: { id: number; status: string }) =>
      `Image ${id} is ${status}; only an available image can be published.`,
    { id: 7, status: "pending_upload" },
  ),
  publicNameTaken: text(
    ({ id, wireId }: { id: number; wireId: string }) =>
      `Image ${id} is already public as ${wireId}. Retire that image first, or replace it with this one.`,
    { id: 5, wireId: "operator/debian-12" },
  ),
  madePublic: text(
    ({ wireId }: { wireId: string }) =>
      `The operator made this image public. The image is now ${wireId} and no longer belongs to this account.`,
    { wireId: "operator/debian-12" },
  ),
  notPublic: text(
    ({ id, accountId }: { id: number; accountId: number }) =>
      `Image ${id} is not public: it belongs to account ${accountId}.`,
    { id: 7, accountId: 3 },
  ),

  manifestMissing: text(() => "The manifest of the image is missing."),
  manifestTooLarge: text(
    ({ bytes }: { bytes: number }) => `The manifest of the image has ${bytes} bytes, more than any disk needs.`,
    {
      bytes: 40_000_000,
    },
  ),
  manifestUnreadable: text(() => "The manifest of the image cannot be read."),
  manifestChunkMisplaced: text(
    ({ index }: { index: number }) =>
      `The manifest of the image contradicts itself: chunk ${index} is out of order or beyond the end of the disk.`,
    { index: 3 },
  ),
  manifestContentSize: text(
    ({ actual, stated }: { actual: number; stated: number }) =>
      `The manifest of the image contradicts itself: its chunks hold ${actual} bytes, not ${stated}.`,
    { actual: 8_388_608, stated: 4_194_304 },
  ),
  manifestStoredSize: text(
    ({ actual, stated }: { actual: number; stated: number }) =>
      `The manifest of the image contradicts itself: its chunks take ${actual} bytes, not ${stated}.`,
    { actual: 2_000_000, stated: 1_000_000 },
  ),
  objectUnexpected: text(({ name }: { name: string }) => `${name} is not in the manifest.`, { name: "chunk-000003" }),
  objectSizeWrong: text(
    ({ name, bytes, expected }: { name: string; bytes: number; expected: number }) =>
      `${name} has ${bytes} bytes and should have ${expected}.`,
    { name: "chunk-000003", bytes: 19, expected: 20 },
  ),
  objectMissing: text(({ name }: { name: string }) => `${name} is missing.`, { name: "chunk-000003" }),
});
