import { type Command, InvalidArgumentError } from "commander";
import { segment, wholeNumber } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import { imageLinkCommand } from "./image-link-command.ts";
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
  const image = program.command("image").description("machine images: the public ones, and those of accounts");

  image
    .command("list")
    .description("the public images and those of every account, or of one account")
    .option("--account <id>", "only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const images = await adminClient().all<Image>(
        account === undefined ? IMAGES : `${IMAGES}?account=${segment(account)}`,
      );
      output.list(images, rowOf, "No image yet. Accounts upload theirs by POST /v4/images/upload.");
    });

  image
    .command("publish <id>")
    .description("make an account's image, such as private/12, everybody's; said again, it changes what is known of it")
    .requiredOption("--name <name>", "it becomes operator/<name>")
    .requiredOption("--label <label>")
    .option("--description <text>")
    .option("--vendor <name>", "the distribution that it holds")
    .option("--eol <time>", "when its end of life is planned")
    .option("--replace", "retire the image that has this name now")
    .action(async (id: string, publication: Publication) => {
      const published = await adminClient().post<Image>(`${pathOf(id)}/publish`, publication);
      output.printResult(published, `${published.label} is ${published.id} now, for everybody.`);
    });

  image
    .command("deprecate <id>")
    .description("mark a public image as one that should not be deployed any more")
    .option("--eol <time>", "when its end of life is planned")
    .action(async (id: string, { eol }: { eol?: string }) => {
      const saved = await adminClient().post<Image>(`${pathOf(id)}/deprecate`, { eol });
      output.printResult(
        saved,
        `${saved.id} is deprecated${saved.eol === null ? "" : `; its end of life is ${saved.eol}`}.`,
      );
    });

  image
    .command("retire <id>")
    .description("delete a public image, for everybody and for good")
    .action(async (id: string) => {
      const retired = await adminClient().post<Image>(`${pathOf(id)}/retire`, {});
      output.printResult(retired, `${retired.id} is retired; its data are being deleted.`);
    });

  limitsCommand(image, output);
  imageLinkCommand(image, output);
}

function limitsCommand(image: Command, output: Output): void {
  image
    .command("limits <account>")
    .description("what an account may have of images; what is not named stays, and so does what it has")
    .option("--images <n>", "how many, or default", amountOrDefault)
    .option("--total-mb <n>", "how much they may have in all, or default", amountOrDefault)
    .option("--raw-mb <n>", "how large one may be uncompressed, or default", amountOrDefault)
    .action(async (account: string, { images, totalMb, rawMb }: LimitOptions) => {
      const path = `/admin/accounts/${segment(account)}/image-limits`;
      const named = { images: wireOf(images), total_mb: wireOf(totalMb), raw_mb: wireOf(rawMb) };
      const client = adminClient();
      const found = Object.values(named).every((limit) => limit === undefined)
        ? await client.get<AccountLimits>(path)
        : await client.put<AccountLimits>(path, named);
      const { limits, used } = found;
      output.printResult(
        found,
        `Account ${found.account} has ${used.images} of ${limits.images} images and ${used.total_mb} of ${limits.total_mb} MB; each may have ${limits.raw_mb} MB.`,
      );
    });
}

const wireOf = (limit: Limit | undefined): number | null | undefined => (limit === "default" ? null : limit);

function amountOrDefault(text: string): Limit {
  if (text === "default") return text;
  try {
    return wholeNumber(text);
  } catch {
    throw new InvalidArgumentError("It must be a whole number, or default.");
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
