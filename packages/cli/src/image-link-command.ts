import { type Command, Option } from "commander";
import { positiveNumber, segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type ImageLink = { url: string; until: string; format: string; raw_bytes: number; raw_sha256: string };
type LinkOptions = { format: string; hours: number; region?: string };

export function imageLinkCommand(image: Command, output: Output): void {
  image
    .command("link <id>")
    .description("an address by which a hypervisor gets an image, such as private/12 or operator/debian12")
    .addOption(
      new Option("--format <kind>", "the disk as it is, or compressed").choices(["raw", "gzip"]).default("raw"),
    )
    .option("--hours <n>", "how long the address can be used", positiveNumber, 1)
    .option("--region <id>", "whose store is read first, if it is not the image server's own")
    .action(async (id: string, options: LinkOptions) => {
      const link = await adminClient().post<ImageLink>(`/admin/images/${segment(id)}/link`, options);
      output.printResult(
        link,
        [
          link.url,
          `Until ${link.until} UTC. Whoever has this address can read the image: hand it over as you would a password.`,
          `The disk has ${link.raw_bytes} bytes; its SHA-256 is ${link.raw_sha256}`,
        ].join("\n"),
      );
    });
}
