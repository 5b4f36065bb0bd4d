import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, lstatSync, lutimesSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { byBytes, type Source } from "./checkout.ts";

export type Scripts = Partial<Record<"preinst" | "postinst" | "prerm" | "postrm", string>>;
export type DebianPackage = {
  name: string;
  architecture: "amd64" | "all";
  summary: string;
  /** Lines of at most 79 characters. */
  description: readonly string[];
  depends?: readonly string[];
  recommends?: readonly string[];
  section?: string;
  scripts?: Scripts;
  /** Modes of files that are not 0644, and of folders that are not 0755, by path or by beginning of a path. */
  modes?: Readonly<Record<string, number>>;
  /** Writes the files. */
  fill: (root: string) => void;
};

export const MAINTAINER = "Moorage <release@moorage.example>";

/** Writes the package and returns its path. `root` is a folder that does not exist. */
export function buildDeb(source: Source, made: DebianPackage, { root, out }: { root: string; out: string }): string {
  mkdirSync(root, { recursive: true });
  made.fill(root);
  writeDocuments(source, made, root);
  const files = listFiles(root);
  writeControl(source, made, root, files);
  normalise(root, "", source.seconds, made.modes ?? {});
  const path = join(out, `${made.name}_${debianVersion(source)}_${made.architecture}.deb`);
  // One thread: xz with several divides the data differently.
  const options = ["--root-owner-group", "-Zxz", "-z3", "--threads-max=1"];
  execFileSync("dpkg-deb", [...options, "--build", root, path], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(source.seconds) },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return path;
}

export const debianVersion = ({ version }: Source): string => version.replace("-", "~");

/** Paths of everything that is no folder, sorted. */
export function listFiles(root: string, within = ""): string[] {
  return readdirSync(join(root, within), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(within, entry.name);
      return entry.isDirectory() ? listFiles(root, path) : [path];
    })
    .toSorted(byBytes);
}

function writeControl(source: Source, made: DebianPackage, root: string, files: readonly string[]): void {
  const control = join(root, "DEBIAN");
  const list = (name: string, entries: readonly string[] = []): string[] =>
    entries.length === 0 ? [] : [`${name}: ${entries.join(", ")}`];
  const kilobytes = files.reduce((sum, file) => sum + Math.ceil(lstatSync(join(root, file)).size / 1024), 0);
  const fields = [
    `Package: ${made.name}`,
    `Version: ${debianVersion(source)}`,
    `Architecture: ${made.architecture}`,
    `Maintainer: ${MAINTAINER}`,
    `Installed-Size: ${kilobytes}`,
    ...list("Depends", made.depends),
    ...list("Recommends", made.recommends),
    `Section: ${made.section ?? "database"}`,
    "Priority: optional",
    `Description: ${made.summary}`,
    ...made.description.map((line) => ` ${line}`),
  ];
  const regular = files.filter((file) => lstatSync(join(root, file)).isFile());
  const conffiles = regular.filter((file) => file.startsWith("etc/"));
  const sums = regular.filter((file) => !file.startsWith("etc/")).map((file) => `${md5(join(root, file))}  ${file}`);
  mkdirSync(control);
  writeFileSync(join(control, "control"), `${fields.join("\n")}\n`);
  writeFileSync(join(control, "md5sums"), sums.map((line) => `${line}\n`).join(""));
  if (conffiles.length > 0) writeFileSync(join(control, "conffiles"), conffiles.map((file) => `/${file}\n`).join(""));
  for (const [name, script] of Object.entries(made.scripts ?? {}))
    writeFileSync(join(control, name), `#!/bin/sh\nset -e\n${script.trim()}\n`, { mode: 0o755 });
}

/** The copyright file that Debian's policy asks for, and the changelog. */
function writeDocuments(source: Source, made: DebianPackage, root: string): void {
  const folder = join(root, "usr/share/doc", made.name);
  mkdirSync(folder, { recursive: true });
  const date = new Date(source.seconds * 1000).toUTCString().replace("GMT", "+0000");
  const changes = `${made.name} (${debianVersion(source)}) stable; urgency=medium\n\n  * Release ${source.version}, commit ${source.commit}.\n\n -- ${MAINTAINER}  ${date}\n`;
  const zipped = execFileSync("gzip", ["-9", "-n"], { input: changes });
  writeFileSync(join(folder, "changelog.gz"), zipped);
}

const md5 = (file: string): string => createHash("md5").update(readFileSync(file)).digest("hex");

/** Modes and times do not depend on the machine, its umask, or the day of the build. Owners: `--root-owner-group`. */
function normalise(root: string, within: string, seconds: number, modes: Readonly<Record<string, number>>): void {
  for (const entry of readdirSync(join(root, within), { withFileTypes: true })) {
    const path = join(within, entry.name);
    if (entry.isDirectory()) normalise(root, path, seconds, modes);
    if (!entry.isSymbolicLink()) chmodSync(join(root, path), modes[path] ?? modeOf(path, entry.isDirectory()));
    lutimesSync(join(root, path), seconds, seconds);
  }
  if (within === "") lutimesSync(root, seconds, seconds);
  if (within === "") chmodSync(root, 0o755);
}

const executable = /^(usr\/)?s?bin\/|^usr\/lib\/moorage\/(node|run)$|^DEBIAN\/(pre|post)(inst|rm)$/;
const modeOf = (path: string, isFolder: boolean): number => (isFolder || executable.test(path) ? 0o755 : 0o644);
