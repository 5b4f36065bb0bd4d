import { type Command, Option } from "commander";
import { segment, wholeNumber } from "./arguments.ts";
import { texts } from "./compute/texts.ts";
import { adminClient } from "./environment.ts";
import { type Output, tableOf } from "./output.ts";

type Disk = { id: number; compute: number; label: string; size_mb: number; filesystem: string; device: string };
type Compute = {
  id: number;
  account: number;
  label: string;
  region: string;
  plan: string | null;
  host: string | null;
  created: string;
};
type Shown = Compute & { disks: Disk[] };
type Removed = Compute & {
  images: { id: string; disk: number; label: string; expiry: string }[];
  not_kept: { disk: number; label: string; reason: string }[];
};

const COMPUTES = "/admin/computes";
const pathOf = (id: string): string => `${COMPUTES}/${segment(id)}`;

export function computeCommands(program: Command, output: Output): void {
  const compute = program.command("compute").description("Manage records of compute instances, which run elsewhere");

  compute
    .command("add <account> <label>")
    .description("Register a compute instance. Repeating the command with the same label changes the named fields.")
    .requiredOption("--region <id>", "region of the instance; see moorage region list")
    .option("--plan <id>", "size of the instance; see moorage plan list")
    .option("--host <name>", "host that runs the instance, if it is in moorage host list")
    .action(async (account: string, label: string, options: { region: string; plan?: string; host?: string }) => {
      const path = `/admin/accounts/${segment(account)}/computes`;
      const saved = await adminClient().post<Shown>(path, { label, ...options });
      output.printResult(saved, texts.instanceSaved({ label, id: saved.id }));
    });

  compute
    .command("list")
    .description("List the compute instances of all accounts")
    .option("--account <id>", "list only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const path = account === undefined ? COMPUTES : `${COMPUTES}?account=${segment(account)}`;
      const computes = await adminClient().all<Compute>(path);
      output.list(computes, rowOf, texts.noInstances());
    });

  compute
    .command("show <id>")
    .description("Show a compute instance and its disks")
    .action(async (id: string) => {
      const shown = await adminClient().get<Shown>(pathOf(id));
      const disks =
        shown.disks.length === 0 ? texts.noDisks({ compute: id }).text : tableOf(shown.disks.map(rowOfDisk));
      output.printResult(shown, [tableOf([rowOf(shown)]), disks].join("\n"));
    });

  compute
    .command("remove <id>")
    .description("Remove a compute instance, its grants and its maintenance. Its disks become images.")
    .option("--no-image", "do not capture the disks as images")
    .action(async (id: string, { image }: { image: boolean }) => {
      const removed = await adminClient().post<Removed>(`${pathOf(id)}/remove`, { image });
      output.printResult(removed, removedText(removed));
    });

  diskCommands(program, output);
}

function removedText({ id, label, account, images, not_kept }: Removed): string {
  const sentences = [
    texts.instanceRemoved({ label, id, account }),
    ...images.map(({ id: image, ...disk }) => texts.diskCaptured({ ...disk, image })),
    ...not_kept.map((disk) => texts.diskNotCaptured(disk)),
    ...(images.length === 0 ? [] : [texts.keepDisks({ account })]),
  ];
  return sentences.map(({ text }) => text).join("\n");
}

type DiskOptions = { sizeMb: number; filesystem: string; device: string };

function diskCommands(program: Command, output: Output): void {
  const disk = program.command("disk").description("Manage the records of the disks of compute instances");

  disk
    .command("add <compute> <label>")
    .description("Register a disk. Repeating the command with the same label changes the other fields.")
    .requiredOption("--size-mb <n>", "size in MB", wholeNumber)
    .addOption(
      new Option("--filesystem <kind>", "content of the disk")
        .choices(["raw", "swap", "ext3", "ext4", "initrd"])
        .default("ext4"),
    )
    .requiredOption("--device <path>", "path of the block device or file on the host")
    .action(async (compute: string, label: string, { sizeMb, filesystem, device }: DiskOptions) => {
      const body = { label, size_mb: sizeMb, filesystem, device };
      const saved = await adminClient().post<Disk>(`${pathOf(compute)}/disks`, body);
      output.printResult(saved, texts.diskSaved({ label, id: saved.id, compute }));
    });

  disk
    .command("list <compute>")
    .description("List the disks of a compute instance")
    .action(async (compute: string) => {
      const disks = await adminClient().all<Disk>(`${pathOf(compute)}/disks`);
      output.list(disks, rowOfDisk, texts.noDisks({ compute }));
    });

  disk
    .command("remove <id>")
    .description("Remove the record of a disk")
    .action(async (id: string) => {
      const removed = await adminClient().post<Disk>(`/admin/disks/${segment(id)}/remove`, {});
      output.printResult(removed, texts.diskRemoved(removed));
    });
}

const rowOf = ({ id, account, label, region, plan, host }: Compute) => ({ id, account, label, region, plan, host });
const rowOfDisk = ({ id, label, size_mb, filesystem, device }: Disk) => ({
  id,
  label,
  "size MB": size_mb,
  filesystem,
  device,
});
