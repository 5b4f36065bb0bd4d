import { defineTexts, text } from "@moorage/contract/texts";

const NEW_LINK = "moorage admin image link <image>";

export const texts = defineTexts("image", {
  noCompleteCopy: text(
    () => "The image is unavailable: no object store has a complete copy at the moment. Try again later.",
  ),
  linkExpired: text(
    ({ at }: { at: Date }) => `This address expired at ${at.toISOString()}. Request a new one with: ${NEW_LINK}`,
    {
      at: new Date("2026-01-31T12:00:00Z"),
    },
  ),
  linkSignatureInvalid: text(
    () =>
      `The signature does not match this address. Use the complete address as it was issued, or request a new one with: ${NEW_LINK}`,
  ),
  serverBusy: text(
    ({ max }: { max: number }) =>
      `The image server is sending ${max} images, the most that it sends at once. Try again later.`,
    { max: 8 },
  ),
  rangeBeyondEnd: text(
    ({ bytes }: { bytes: number }) => `The range begins beyond the end of the image, which has ${bytes} bytes.`,
    { bytes: 1_073_741_824 },
  ),
  httpVersionUnsupported: text(
    () =>
      "An image in gzip format requires HTTP/1.1: with HTTP/1.0 a client could not distinguish a complete response from a truncated one.",
  ),
});
