import { readFile, writeFile } from "node:fs/promises";

const limit = "/proc/sys/fs/aio-max-nr";
/** A server reserves 2,305 events, a host has up to 4,094 nodes, and restores start servers too. */
const enough = 16_777_216;

/** The kernel's default (65,536) is used up by 28 servers. */
export async function allowNativeIo(): Promise<void> {
  if (Number(await readFile(limit, "utf8")) < enough) await writeFile(limit, `${enough}`);
}
