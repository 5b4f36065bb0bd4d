import type { Text } from "@moorage/contract/texts";
import { type Command, InvalidArgumentError } from "commander";
import { segment, wholeNumber } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import { imageLinkCommand } from "./image-link-command.ts";
import { texts } from "./images/texts.ts";
import type { Output } from "./output.ts";

type Image = {
  id: string;
  account: number | null;
  label: string;
  vendor: string | null;
  deprecated: boolean;
  eol: string | null;
  type: string;
  status: string;
  failed: string | null;
  region: string;
  size: number;
};
type Publication = { name: string; label: string; description?: string; vendor?: string; eol?: string; replace?: true };
type AccountLimits = {
  account: number;
  limits: { images: number; total_mb: number; raw_mb: number };
  used: { images: number; total_mb: number };
};
type Limit = number | "default";
type LimitOptions = { images?: Limit; totalMb?: Limit; rawMb?: Limit };

const IMAGES = "/admin/images";
const pathOf = (id: string): string => `${IMAGES}/${segment(id)}`;

export function imageCommands(program: Command, output: Output): void {
  const image = program.command("image").description("Manage machine images, public ones and those of accounts");

  image
    .command("list")
    .description("List public images and the images of all accounts")
    .option("--account <id>", "list only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const images = await adminClient().all<Image>(
        account === undefined ? IMAGES : `${IMAGES}?account=${segment(account)}`,
      );
      output.list(images, rowOf, texts.none());
    });

  image
    .command("publish <id>")
    .description("Publish an image, such as private/12, for all accounts. Repeating the command changes its fields.")
    .requiredOption("--name <name>", "name of the public image, whose id becomes operator/<name>")
    .requiredOption("--label <label>", "label of the public image")
    .option("--description <text>", "description of the public image")
    .option("--vendor <name>", "distribution in the image, such as Debian")
    .option("--eol <time>", "planned end of life in UTC, such as 2028-06-30T00:00:00")
    .option("--replace", "retire the image that has this name now")
    .action(async (id: string, publication: Publication) => {
      const published = await adminClient().post<Image>(`${pathOf(id)}/publish`, publication);
      output.printResult(published, texts.published(published));
    });

  image
    .command("deprecate <id>")
    .description("Mark a public image as deprecated: it should not be deployed any more")
    .option("--eol <time>", "planned end of life in UTC, such as 2028-06-30T00:00:00")
    .action(async (id: string, { eol }: { eol?: string }) => {
      const saved = await adminClient().post<Image>(`${pathOf(id)}/deprecate`, { eol });
      output.printResult(saved, deprecatedText(saved));
    });

  image
    .command("retire <id>")
    .description("Delete a public image permanently")
    .action(async (id: string) => {
      const retired = await adminClient().post<Image>(`${pathOf(id)}/retire`, {});
      output.printResult(retired, texts.retired({ id: retired.id }));
    });

  limitsCommand(image, output);
  imageLinkCommand(image, output);
}

function limitsCommand(image: Command, output: Output): void {
  image
    .command("limits <account>")
    .description("Show the image limits of an account, or change the named ones. A lower limit deletes no image.")
    .option("--images <n>", "maximum number of images, or default", amountOrDefault)
    .option("--total-mb <n>", "maximum size of all images together in MB, or default", amountOrDefault)
    .option("--raw-mb <n>", "maximum size of an uncompressed image in MB, or default", amountOrDefault)
    .action(async (account: string, { images, totalMb, rawMb }: LimitOptions) => {
      const path = `/admin/accounts/${segment(account)}/image-limits`;
      const named = { images: wireOf(images), total_mb: wireOf(totalMb), raw_mb: wireOf(rawMb) };
      const client = adminClient();
      const found = Object.values(named).every((limit) => limit === undefined)
        ? await client.get<AccountLimits>(path)
        : await client.put<AccountLimits>(path, named);
      output.printResult(found, limitsText(found));
    });
}

const deprecatedText = ({ id, eol }: Image): Text =>
  eol === null ? texts.deprecated({ id }) : texts.deprecatedUntil({ id, eol });

const limitsText = ({ account, limits, used }: AccountLimits): Text =>
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

const rowOf = ({ id, account, label, type, status, failed, size, region, deprecated }: Image) => ({
  id,
  account,
  label,
  type,
  status: failed === null ? status : "failed",
  "size MB": size,
  region,
  deprecated,
});
