import { type Command, Option } from "commander";
import { positiveNumber, segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import { texts } from "./images/texts.ts";
import type { Output } from "./output.ts";

type ImageLink = { url: string; until: string; format: string; raw_bytes: number; raw_sha256: string };
type LinkOptions = { format: string; hours: number; region?: string };

export function imageLinkCommand(image: Command, output: Output): void {
  image
    .command("link <id>")
    .description("Create a download URL of an image, such as private/12 or operator/debian12, for a hypervisor")
    .addOption(new Option("--format <kind>", "format of the download").choices(["raw", "gzip"]).default("raw"))
    .option("--hours <n>", "validity of the URL in hours", positiveNumber, 1)
    .option("--region <id>", "region whose store is read first (default: the region of the image server)")
    .action(async (id: string, options: LinkOptions) => {
      const link = await adminClient().post<ImageLink>(`/admin/images/${segment(id)}/link`, options);
      const { url, until, raw_bytes: bytes, raw_sha256: sha256 } = link;
      output.printResult(link, texts.link({ url, until, bytes, sha256 }));
    });
}
