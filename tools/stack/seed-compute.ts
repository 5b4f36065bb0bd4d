import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { region } from "./addresses.ts";
import { disksOf, type Host } from "./hosts.ts";
import { run } from "./run.ts";
import { admin, bakeryAccount } from "./seed.ts";

/** A registered machine, and its disk, which is a file on a host. */
export type Compute = { id: number; disk: number; swap: number; device: string };

const DISK_MB = 64;
const SWAP_MB = 16;

/** Registers the machine as an operator would, so that the agent of its host can capture the disk. */
export async function seedCompute(host: Host): Promise<Compute> {
  const device = join(disksOf(host), "web-root.img");
  const swap = join(disksOf(host), "web-swap.img");
  await mkdir(disksOf(host), { recursive: true });
  if (!existsSync(device)) await makeDisk(device);
  if (!existsSync(swap)) await makeEmpty(swap, SWAP_MB);
  const account = await bakeryAccount();
  const body = { label: "web", region, host: host.name };
  const { id } = await admin<{ id: number }>("POST", `/admin/accounts/${account}/computes`, body);
  const diskOf = async (label: string, filesystem: string, path: string, size_mb: number): Promise<number> => {
    const disk = { label, filesystem, device: path, size_mb };
    return (await admin<{ id: number }>("POST", `/admin/computes/${id}/disks`, disk)).id;
  };
  return {
    id,
    disk: await diskOf("root", "ext4", device, DISK_MB),
    swap: await diskOf("swap", "swap", swap, SWAP_MB),
    device,
  };
}

async function makeEmpty(path: string, mb: number): Promise<void> {
  await writeFile(path, "");
  await truncate(path, mb * 1024 ** 2);
}

/** A file system without a partition table, as virtual disks often have. The file appears only when it is complete. */
async function makeDisk(path: string): Promise<void> {
  const folder = await mkdtemp(`${path}.files-`);
  await mkdir(join(folder, "etc"));
  await writeFile(join(folder, "etc", "hostname"), "web\n");
  await makeEmpty(`${path}.new`, DISK_MB);
  await run("mke2fs", ["-q", "-t", "ext4", "-d", folder, "-L", "root", `${path}.new`]);
  await rename(`${path}.new`, path);
  await rm(folder, { recursive: true });
}
