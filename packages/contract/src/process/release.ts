import { readFileSync } from "node:fs";
import { join } from "node:path";

type Manifest = { version: string; commit?: string };

/** The package.json of the repository; `pnpm release` adds the commit to the one in a package. */
const { version, commit = "checkout" } = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../../package.json"), "utf8"),
) as Manifest;

/** What this process is a release of. */
export const release = { version, commit };
export const releaseText = `${version} (${commit.slice(0, 12)})`;
