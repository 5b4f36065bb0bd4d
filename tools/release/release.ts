/**
 * Builds the release of this commit into `dist/`: Debian packages, which are an apt repository as they lie there, a list
 * of what is in each, and the digests of all files. `--only NAME` builds one package, `--out FOLDER` writes elsewhere,
 * `--sign KEY` signs with a key of gpg.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { changedFiles, readSource, root } from "./checkout.ts";
import { buildDeb } from "./deb.ts";
import { makeRepository, sign, writeSums } from "./repository.ts";
import { agentPackage, commandLinePackage, controlPlanePackage, nodePackage } from "./packages.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    out: { type: "string", default: join(root, "dist") },
    sign: { type: "string" },
  },
});
const recipes = {
  "moorage-node": nodePackage,
  moorage: commandLinePackage,
  "moorage-agent": agentPackage,
  "moorage-control-plane": controlPlanePackage,
};
const names = Object.keys(recipes) as (keyof typeof recipes)[];
const unknown = (values.only ?? []).filter((name) => !(name in recipes));
if (unknown.length > 0) {
  console.error(`There is no package ${unknown.join(", ")}. The packages are: ${names.join(", ")}.`);
  process.exit(2);
}

const source = readSource();
const changed = changedFiles();
if (changed.length > 0) {
  console.error(`A release is of a commit. Commit or undo these changes first:\n${changed.join("\n")}`);
  process.exit(2);
}
const out = resolve(values.out);
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
// Its path has the same length on all machines: a source map depends on it.
const work = mkdtempSync("/tmp/moorage-release-");
try {
  for (const name of names.filter((each) => values.only?.includes(each) ?? true)) {
    const made = recipes[name]({ source, stage: join(work, "stage", name) });
    const path = buildDeb(source, made, { root: join(work, "root", name), out });
    const sbom = join(work, "stage", name, "sbom.cdx.json");
    if (existsSync(sbom)) copyFileSync(sbom, join(out, `${name}.cdx.json`));
    console.log(`${basename(path)}  ${(statSync(path).size / 1024 ** 2).toFixed(1)} MB`);
  }
  makeRepository(source, out);
  writeSums(out);
  if (values.sign === undefined) console.log("Nothing is signed: no key was given with --sign.");
  else sign(out, values.sign);
} finally {
  rmSync(work, { recursive: true, force: true });
}
