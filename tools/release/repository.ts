import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { byBytes, type Source } from "./checkout.ts";

const ftparchive = (folder: string, ...args: string[]): string =>
  execFileSync("apt-ftparchive", args, { cwd: folder, encoding: "utf8", maxBuffer: 1024 ** 3 });

/** Makes the folder with the packages a flat apt repository. */
export function makeRepository(source: Source, folder: string): void {
  const packages = ftparchive(folder, "packages", ".");
  writeFileSync(join(folder, "Packages"), packages);
  writeFileSync(join(folder, "Packages.gz"), execFileSync("gzip", ["-9", "-n"], { input: packages }));
  const date = new Date(source.seconds * 1000).toUTCString();
  const fields = ["Origin=Moorage", "Label=Moorage", "Suite=stable", "Architectures=amd64", `Date=${date}`];
  const options = fields.flatMap((field) => ["-o", `APT::FTPArchive::Release::${field}`]);
  const release = ftparchive(folder, ...options, "release", ".").replace(/^Date: .*$/m, `Date: ${date}`);
  writeFileSync(join(folder, "Release"), release);
}

/** The digests of all files of the release. Signatures come afterwards. */
export function writeSums(folder: string): void {
  const sums = readdirSync(folder)
    .toSorted(byBytes)
    .map(
      (file) =>
        `${createHash("sha256")
          .update(readFileSync(join(folder, file)))
          .digest("hex")}  ${file}\n`,
    );
  writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
}

/** `key` names a key of the caller's gpg. */
export function sign(folder: string, key: string): void {
  const gpg = (...args: string[]): void => {
    execFileSync("gpg", ["--batch", "--yes", "--local-user", key, "--armor", ...args], {
      cwd: folder,
      stdio: "inherit",
    });
  };
  gpg("--output", "InRelease", "--clearsign", "Release");
  gpg("--output", "Release.gpg", "--detach-sign", "Release");
  gpg("--output", "SHA256SUMS.asc", "--detach-sign", "SHA256SUMS");
}
