import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The root of a minimal Debian 12, without an init that runs: programs are started in it with chroot. */
export type Machine = { root: string; run: (script: string) => string; remove: () => void };

/** Has what the packages depend on, from Debian, and the packages of the release in /release. */
export function newMachine(release: string): Machine {
  const folder = mkdtempSync(join(tmpdir(), "moorage-machine-"));
  const root = join(folder, "root");
  const needed = ["systemd", "systemd-sysv", ...dependenciesOf(release)];
  execFileSync("mmdebstrap", ["--quiet", "--variant=minbase", `--include=${needed.join(",")}`, "bookworm", root], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  cpSync(release, join(root, "release"), { recursive: true });
  writeFileSync(join(root, "usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  const run = (script: string): string =>
    execFileSync("unshare", ["--mount", "--pid", "--fork", "bash", "-ec", inside, "bash", root, script], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  return { root, run, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

const inside = 'mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; exec chroot "$1" bash -ec "$2"';

/** Of all packages of the release, without those of the release. */
function dependenciesOf(release: string): string[] {
  const debs = readdirSync(release).filter((file) => file.endsWith(".deb"));
  const fields = debs.map((deb) =>
    execFileSync("dpkg-deb", ["--field", join(release, deb), "Depends"], { encoding: "utf8" }),
  );
  const names = fields.flatMap((field) => field.split(",").map((each) => each.trim().split(" ")[0] ?? ""));
  return [...new Set(names)].filter((name) => name !== "" && !name.startsWith("moorage"));
}
