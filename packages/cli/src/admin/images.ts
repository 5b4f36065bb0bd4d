import * as contract from "@moorage/contract/operator";
import { Command, InvalidArgumentError } from "commander";
import { texts } from "../images/texts.ts";
import { wholeNumber } from "../tenant/body-field.ts";
import { idAsTyped } from "./admin-client.ts";
import { type AdminCommand, type AdminDeps, define } from "./admin-command.ts";

export const imageCommands: readonly AdminCommand[] = [
  define({
    words: "image list",
    operation: contract.listImages,
    list: ({ id, account, label, type, status, failed, size, region, deprecated }) => ({
      id,
      account,
      label,
      type,
      status: failed === null ? status : "failed",
      "size MB": size,
      region,
      deprecated,
    }),
    empty: texts.none(),
  }),
  define({ words: "image publish", operation: contract.publishImage, print: (image) => texts.published(image) }),
  define({
    words: "image deprecate",
    operation: contract.deprecateImage,
    print: ({ id, eol }) => (eol === null ? texts.deprecated({ id }) : texts.deprecatedUntil({ id, eol })),
  }),
  define({ words: "image retire", operation: contract.retireImage, print: ({ id }) => texts.retired({ id }) }),
  define({
    words: "image link",
    operation: contract.createImageLink,
    print: ({ url, until, raw_bytes: bytes, raw_sha256: sha256 }) => texts.link({ url, until, bytes, sha256 }),
  }),
];

type Limit = number | "default";
type LimitOptions = { images?: Limit; totalMb?: Limit; rawMb?: Limit };

/** Shows the limits if none is named, else changes them. */
export const imageLimitsCommand = ({ client, output }: AdminDeps): Command =>
  new Command("limits")
    .description(`${contract.viewImageLimits.summary}, or change the named ones. A lower limit deletes no image.`)
    .argument("<account>")
    .option("--images <n>", "maximum number of images, or default", amountOrDefault)
    .option("--total-mb <n>", "maximum size of all images together in MB, or default", amountOrDefault)
    .option("--raw-mb <n>", "maximum size of an uncompressed image in MB, or default", amountOrDefault)
    .action(async (account: string, { images, totalMb, rawMb }: LimitOptions) => {
      const params = { accountId: idAsTyped(account) };
      const named = { images: wireOf(images), total_mb: wireOf(totalMb), raw_mb: wireOf(rawMb) };
      const found = Object.values(named).every((limit) => limit === undefined)
        ? await client().call(contract.viewImageLimits, { params })
        : await client().call(contract.setImageLimits, { params, body: named });
      output.printResult(found, limitsText(found));
    });

const limitsText = ({ account, limits, used }: contract.ImageLimits) =>
  texts.limits({
    account,
    images: used.images,
    maxImages: limits.images,
    mb: used.total_mb,
    maxMb: limits.total_mb,
    rawMb: limits.raw_mb,
  });

const wireOf = (limit: Limit | undefined): number | null | undefined => (limit === "default" ? null : limit);

function amountOrDefault(text: string): Limit {
  if (text === "default") return text;
  try {
    return wholeNumber(text);
  } catch {
    throw new InvalidArgumentError(texts.limitInvalid().text);
  }
}
