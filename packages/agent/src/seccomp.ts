import { readFile } from "node:fs/promises";
import { writeDurably } from "./durable-file.ts";

type Profile = { syscalls: { names: string[]; action: string }[] };

/** The distribution's profile blocks io_pgetevents, which would turn off InnoDB's native asynchronous I/O. */
export async function writeSeccompProfile(path: string, base = "/usr/share/containers/seccomp.json"): Promise<void> {
  const profile = JSON.parse(await readFile(base, "utf8")) as Profile;
  profile.syscalls.push({ names: ["io_pgetevents"], action: "SCMP_ACT_ALLOW" });
  await writeDurably(path, JSON.stringify(profile), 0o644);
}
