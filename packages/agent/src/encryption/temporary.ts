import { randomBytes } from "node:crypto";
import { chown, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { exists, mb } from "../node/volume.ts";
import { detachLoopDevices, isMountPoint, ownFileSystem, unmount } from "../node/mounts.ts";
import { CannotHeal } from "../node/podman.ts";
import { runCommand } from "../base/run-command.ts";

/** An image and its mount point; a server sees the folder `files` in it as /temporary. */
export type Temporary = { image: string; folder: string };

export const temporaryFiles = ({ folder }: Temporary): string => join(folder, "files");
/** For mysqlbinlog, which runs as root without capabilities and cannot enter folders of the server's user. */
export const archiveFolder = "archive";
export const temporaryBind = (temporary: Temporary): string => `${temporaryFiles(temporary)}:/temporary:rw`;

/** MySQL does not encrypt temporary tables, sorts and index builds. The last path is relative to the data directory. */
export const temporarySettings = `tmpdir = /temporary/tmp
innodb_temp_tablespaces_dir = /temporary/innodb
innodb_temp_data_file_path = ../../temporary/ibtmp1:12M:autoextend
`;

/** A quarter of the plan's disk, at least 1 GB. An index build needs about twice the size of the index. */
export const temporaryMb = (diskMb: number): number => Math.max(1024, Math.ceil(diskMb / 4));

/**
 * A file system for temporary files whose key is only in the kernel and is lost with the mount: after a reboot, or on a
 * stolen disk, it is noise. Recreated whenever it is not mounted or too small; a running server keeps the one that it
 * started with.
 */
export async function makeTemporary(temporary: Temporary, sizeMb: number, uid: number): Promise<void> {
  const { image, folder } = temporary;
  if ((await isMountPoint(folder)) && (await isComplete(temporary)) && (await sizeOf(image)) >= sizeMb * mb) return;
  await releaseTemporary(temporary);
  const file = await open(image, "w", 0o600);
  try {
    await file.truncate(sizeMb * mb);
  } finally {
    await file.close();
  }
  // Without a journal: after a crash the file system is recreated.
  const features = "encrypt,^has_journal";
  await runCommand("mkfs.ext4", ["-q", "-F", "-m", "0", "-O", features, "-E", "lazy_itable_init=1,nodiscard", image]);
  await mkdir(folder, { recursive: true, mode: 0o711 });
  await runCommand("mount", ["-t", "ext4", "-o", `loop,${ownFileSystem},discard`, image, folder]);
  await encryptFolder(folder, join(folder, "files.tmp"));
  for (const name of [".", ...serverFolders]) {
    const made = join(folder, "files.tmp", name);
    await mkdir(made, { recursive: true, mode: 0o700 });
    await chown(made, uid, uid);
  }
  await mkdir(join(folder, "files.tmp", archiveFolder), { mode: 0o700 });
  await rename(join(folder, "files.tmp"), temporaryFiles(temporary));
}

const serverFolders = ["tmp", "innodb"];

/** Without one of its folders a server does not start. */
async function isComplete(temporary: Temporary): Promise<boolean> {
  const found = serverFolders.map((name) => exists(join(temporaryFiles(temporary), name)));
  return (await Promise.all(found)).every(Boolean);
}

const sizeOf = async (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  );

async function encryptFolder(mount: string, folder: string): Promise<void> {
  // Traversable by the group: mysqlbinlog, which reads logs for the archive, has a folder of its own in it.
  await mkdir(folder, { mode: 0o710 });
  const added = await runCommand("xfs_io", ["-c", "add_enckey", mount], randomBytes(64));
  const [key] = /\b[0-9a-f]{32}\b/.exec(added) ?? [];
  if (key !== undefined) await runCommand("xfs_io", ["-c", `set_encpolicy -v 2 ${key}`, folder]);
  // xfs_io exits with 0 even if its commands fail.
  const policy = await runCommand("xfs_io", ["-c", "get_encpolicy", folder]);
  if (key === undefined || !policy.includes(key))
    throw new CannotHeal("This host's kernel does not encrypt files on ext4 (CONFIG_FS_ENCRYPTION).");
}

export async function releaseTemporary({ image, folder }: Temporary): Promise<void> {
  await unmount(folder);
  await detachLoopDevices(image);
  await rm(image, { force: true });
}
