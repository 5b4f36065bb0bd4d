import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("oauth_client", {
  thumbnailNotPicture: text(
    () => "The body must be a picture: the bytes of a PNG, JPEG or GIF file, neither encoded nor in a form.",
  ),
  thumbnailUnreadable: text(
    () => "The picture cannot be read: the file is damaged or incomplete. Save the picture again as PNG and send that.",
  ),
  thumbnailTooLarge: text(
    ({ width, height, most, shown }: { width: number; height: number; most: number; shown: number }) =>
      `The picture has ${width}×${height} pixels; at most ${most}×${most} are allowed. It is shown with ${shown}×${shown}.`,
    { width: 5000, height: 4000, most: 4096, shown: 128 },
  ),
});
