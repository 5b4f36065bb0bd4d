import { readFile } from "node:fs/promises";

/** Another one each time the machine is started. */
export const bootId = async (): Promise<string> => (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
