/** Builds the documentation site, if what it is made of has changed: `pnpm docs:build`. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const repo = resolve(import.meta.dirname, "../..");
const siteFolder = join(repo, "docs/.vitepress");
export const site = join(siteFolder, "dist");
const inSite = ".built-from";

/** Everything that decides how the site looks; the lockfile stands for the tool's version. */
function fingerprint(): string {
  const files = globSync(["*.md", "docs/**/*.md", "docs/.vitepress/*.ts", "docs/.vitepress/theme/*"], { cwd: repo });
  const hash = createHash("sha256").update(process.env["MOORAGE_SOURCE_URL"] ?? "");
  for (const file of [...files.sort(), "pnpm-lock.yaml"])
    hash.update(`\0${file}\0`).update(readFileSync(join(repo, file)));
  return hash.digest("hex");
}

function builtFrom(): string | undefined {
  try {
    return readFileSync(join(site, inSite), "utf8");
  } catch {
    return undefined;
  }
}

/** The new site takes the place of the old one when it is complete. Returns whether there was anything to build. */
export async function buildSite(): Promise<boolean> {
  const source = fingerprint();
  if (builtFrom() === source) return false;
  const fresh = `${site}.new`;
  const program = join(repo, "node_modules/vitepress/bin/vitepress.js");
  if (!existsSync(program)) throw new Error("vitepress is not installed: run bin/setup.");
  // Whoever starts the stack waits for its servers, not for the site.
  const command = ["-n", "10", process.execPath, program, "build", "docs", "--outDir", fresh];
  await promisify(execFile)("nice", command, { cwd: repo, maxBuffer: 16 * 1024 * 1024 });
  await writeFile(join(fresh, inSite), source);
  await rm(site, { recursive: true, force: true });
  await rename(fresh, site);
  return true;
}

if (import.meta.main) console.log(`${site}: ${(await buildSite()) ? "built" : "up to date"}`);
