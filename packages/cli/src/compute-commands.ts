import { type Command, Option } from "commander";
import { segment, wholeNumber } from "./arguments.ts";
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
  const compute = program.command("compute").description("the accounts' compute instances, which run elsewhere");

  compute
    .command("add <account> <label>")
    .description("register a compute instance; said again for the same label, it changes what is named")
    .requiredOption("--region <id>", "where it stands: see moorage region list")
    .option("--plan <id>", "its size: see moorage plan list")
    .option("--host <name>", "the host that runs it, if that is one of ours")
    .action(async (account: string, label: string, options: { region: string; plan?: string; host?: string }) => {
      const path = `/admin/accounts/${segment(account)}/computes`;
      const saved = await adminClient().post<Shown>(path, { label, ...options });
      output.printResult(saved, `Compute ${label} (${saved.id}). Next, its disks: moorage disk add ${saved.id} --help`);
    });

  compute
    .command("list")
    .description("every compute instance, or those of one account")
    .option("--account <id>", "only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const path = account === undefined ? COMPUTES : `${COMPUTES}?account=${segment(account)}`;
      const computes = await adminClient().all<Compute>(path);
      output.list(computes, rowOf, "No compute instance yet. Register one with: moorage compute add --help");
    });

  compute
    .command("show <id>")
    .description("one of them, with its disks")
    .action(async (id: string) => {
      const shown = await adminClient().get<Shown>(pathOf(id));
      output.printResult(
        shown,
        [tableOf([rowOf(shown)]), shown.disks.length === 0 ? "No disk." : tableOf(shown.disks.map(rowOfDisk))].join(
          "\n",
        ),
      );
    });

  compute
    .command("remove <id>")
    .description(
      "forget a compute instance, with the grants on it and what was planned for it; its disks become images",
    )
    .option("--no-image", "make no images of its disks")
    .action(async (id: string, { image }: { image: boolean }) => {
      const removed = await adminClient().post<Removed>(`${pathOf(id)}/remove`, { image });
      output.printResult(removed, removedText(removed));
    });

  diskCommands(program, output);
}

function removedText({ id, label, account, images, not_kept }: Removed): string {
  return [
    `Compute ${label} (${id}) of account ${account} is removed.`,
    ...images.map(
      (image) =>
        `Disk ${image.label} (${image.disk}) becomes ${image.id}, which its account has until ${image.expiry}.`,
    ),
    ...not_kept.map((disk) => `Disk ${disk.label} (${disk.disk}) is not kept: ${disk.reason}`),
    ...(images.length === 0
      ? []
      : [`Keep the disks on their host until these are available: moorage image list --account ${account}`]),
  ].join("\n");
}

type DiskOptions = { sizeMb: number; filesystem: string; device: string };

function diskCommands(program: Command, output: Output): void {
  const disk = program.command("disk").description("the disks of compute instances");

  disk
    .command("add <compute> <label>")
    .description("register a disk; said again for the same label, it changes the rest")
    .requiredOption("--size-mb <n>", "its size", wholeNumber)
    .addOption(
      new Option("--filesystem <kind>", "what is on it")
        .choices(["raw", "swap", "ext3", "ext4", "initrd"])
        .default("ext4"),
    )
    .requiredOption("--device <path>", "where its host finds it: a block device, or a file")
    .action(async (compute: string, label: string, { sizeMb, filesystem, device }: DiskOptions) => {
      const body = { label, size_mb: sizeMb, filesystem, device };
      const saved = await adminClient().post<Disk>(`${pathOf(compute)}/disks`, body);
      output.printResult(saved, `Disk ${label} (${saved.id}) of compute ${compute}.`);
    });

  disk
    .command("list <compute>")
    .description("the disks of a compute instance")
    .action(async (compute: string) => {
      const disks = await adminClient().all<Disk>(`${pathOf(compute)}/disks`);
      output.list(disks, rowOfDisk, `No disk yet. Register one with: moorage disk add ${compute} --help`);
    });

  disk
    .command("remove <id>")
    .description("forget a disk")
    .action(async (id: string) => {
      const removed = await adminClient().post<Disk>(`/admin/disks/${segment(id)}/remove`, {});
      output.printResult(removed, `Disk ${removed.label} (${removed.id}) of compute ${removed.compute} is removed.`);
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
