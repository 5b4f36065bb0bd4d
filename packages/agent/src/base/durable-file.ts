import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * On return the file is complete and on the disk; after a crash at any point it is either the old or the new one. The
 * temporary file is always a new one: a link that somebody else put in its place is not followed.
 */
export async function writeDurably(path: string, text: string | Buffer, mode = 0o600, owner?: number): Promise<void> {
  const temporary = `${path}.tmp`;
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", mode);
  try {
    await file.chmod(mode);
    if (owner !== undefined) await file.chown(owner, owner);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await renameDurably(temporary, path);
}

export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
}

export async function removeDurably(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncFolder(dirname(path));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
