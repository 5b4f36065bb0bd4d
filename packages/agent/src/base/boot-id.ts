import { readFile } from "node:fs/promises";

/** Changes with each boot of the machine. */
export const bootId = async (): Promise<string> => (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
