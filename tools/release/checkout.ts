import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

/** What a release is made from: a commit, never the files of the working tree. */
export type Source = { version: string; commit: string; seconds: number };

const git = (...args: string[]): string => execFileSync("git", ["-C", root, ...args], { encoding: "utf8" }).trim();

export function readSource(): Source {
  const commit = git("rev-parse", "HEAD");
  const { version } = JSON.parse(git("show", "HEAD:package.json")) as { version: string };
  return { version, commit, seconds: Number(git("show", "--no-patch", "--format=%ct", "HEAD")) };
}

/** Files that differ from the commit. Parts of a release are read from the checkout, so it must have none. */
export const changedFiles = (): string[] =>
  git("status", "--porcelain", "--untracked-files=no").split("\n").filter(Boolean);

/** A copy of the commit, without anything that git ignores. */
export function exportCommit({ commit }: Source, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync("git", ["-C", root, "archive", commit], { maxBuffer: 1024 ** 3 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
}

/** An order that no locale changes. */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

export type Manifest = {
  name: string;
  version: string;
  files?: string[];
  dependencies?: Record<string, string>;
};

export const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
