import { defineTexts, text } from "@moorage/contract/texts";

type Limits = { account: number; images: number; maxImages: number; mb: number; maxMb: number; rawMb: number };
type Link = { url: string; until: string; bytes: number; sha256: string };

export const texts = defineTexts("cli_image", {
  none: text(() => "There is no image. Accounts upload images with POST /v4/images/upload."),
  published: text(
    ({ label, id }: { label: string; id: string }) => `Image ${label} is published for all accounts as ${id}.`,
    { label: "Debian 12", id: "operator/debian12" },
  ),
  deprecated: text(({ id }: { id: string }) => `Image ${id} is deprecated.`, { id: "operator/debian11" }),
  deprecatedUntil: text(
    ({ id, eol }: { id: string; eol: string }) => `Image ${id} is deprecated. Its end of life is ${eol} UTC.`,
    { id: "operator/debian11", eol: "2028-06-30T00:00:00" },
  ),
  retired: text(({ id }: { id: string }) => `Image ${id} is retired. The control plane is deleting its data.`, {
    id: "operator/debian10",
  }),
  limits: text(
    ({ account, images, maxImages, mb, maxMb, rawMb }: Limits) =>
      `Account ${account} has ${images} of ${maxImages} images and ${mb} of ${maxMb} MB. An uncompressed image has at most ${rawMb} MB.`,
    { account: 7, images: 3, maxImages: 25, mb: 4096, maxMb: 153600, rawMb: 6144 },
  ),
  limitInvalid: text(() => "The value must be a whole number of at most 15 digits, or default."),
  link: text(
    ({ url, until, bytes, sha256 }: Link) =>
      `${url}\nThe URL is valid until ${until} UTC. Whoever has the URL can read the image: keep it secret.\nSize of the uncompressed disk: ${bytes} bytes. SHA-256: ${sha256}`,
    {
      url: "https://images.example.com/operator/debian12?signature=0123456789abcdef",
      until: "2026-01-31T12:00:00",
      bytes: 2147483648,
      sha256: "0123456789abcdef",
    },
  ),
});
