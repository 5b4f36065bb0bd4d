import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const mostBytes = 1024 * 1024;

/**
 * Opens a file in a folder that belongs to a node's user, for reading. What that user can put in its place is never
 * followed or waited for: a link, a pipe or a device is an error. The folders above must belong to root.
 */
export async function openNodeFile(path: string): Promise<FileHandle | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error.code === "ELOOP" ? notAFile(path) : error;
  });
  if (file === undefined || (await file.stat()).isFile()) return file;
  await file.close();
  throw notAFile(path);
}

/** For small files: at most 1 MiB. Undefined if there is none. */
export async function readNodeFile(path: string): Promise<Buffer | undefined> {
  const file = await openNodeFile(path);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    if (size > mostBytes) throw new Error(`${path} has ${size} bytes; at most ${mostBytes} are read.`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

const notAFile = (path: string): Error => new Error(`${path} is not a regular file.`);
