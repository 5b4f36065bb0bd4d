import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { operator } from "../kit/operator.ts";
import { env } from "../kit/stack-env.ts";
import { unique } from "../kit/unique.ts";

export const DISK_MB = 4;

/** A raw disk without a partition table, mostly empty, compressed. */
export const aDisk = (): Buffer<ArrayBuffer> => {
  const disk = Buffer.alloc(DISK_MB * 1024 ** 2);
  randomBytes(64 * 1024).copy(disk, 1024 ** 2);
  return Buffer.from(gzipSync(disk));
};

/** Written to a folder, for programs that read files. */
export async function diskFile(folder: string, name: string, data: Uint8Array = aDisk()): Promise<string> {
  const path = `${folder}/${name}`;
  await writeFile(path, data);
  return path;
}

/** A compute instance on a host of the stack, with the disk that the stack created. */
export async function newInstance(accountId: number): Promise<{ computeId: number; diskId: number }> {
  const body = { label: unique("conformance"), region: env("MOORAGE_REGION"), host: "host-1" };
  const { id } = await operator<{ id: number }>(`/admin/accounts/${accountId}/computes`, body);
  const disk = { label: "root", size_mb: 64, filesystem: "ext4", device: env("MOORAGE_DISK_FILE") };
  const { id: diskId } = await operator<{ id: number }>(`/admin/computes/${id}/disks`, disk);
  return { computeId: id, diskId };
}

const pathOf = (image: string, verb: string): string => `/admin/images/${encodeURIComponent(image)}/${verb}`;

/** Publishes an image of an account under an unused name. */
export const publish = (image: string): Promise<{ id: string }> =>
  operator(pathOf(image, "publish"), { name: unique("conformance"), label: "A distribution" });

export const retire = (image: string): Promise<object> => operator(pathOf(image, "retire"), {});
