import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { builtEngine } from "./agent-environment.ts";
import { enginesDir, sh } from "./test-host.ts";

const kept = join(enginesDir, "..", "tmp");

/** The file that distinguishes the patched image from the one built by `bin/setup`. */
export const patchedFile = "/etc/moorage-patch";

/** Created once for each image of the engine and kept: packing it takes seconds. */
function patchedArchive(): string {
  const archive = join(kept, `patched-${builtEngine.image.slice(0, 16)}.tar.zst`);
  if (existsSync(archive)) return archive;
  mkdirSync(kept, { recursive: true });
  const work = join(kept, `patched-${process.pid}`);
  sh(`set -e; mkdir -p ${work}/etc; trap 'rm -rf ${work}' EXIT
    zstd -q -d ${enginesDir}/mysql/image.tar.zst -o ${work}/image.tar; echo patched > ${work}${patchedFile}
    tar -rf ${work}/image.tar -C ${work} --mtime=@0 --owner=0 --group=0 .${patchedFile}
    zstd -q -1 ${work}/image.tar -o ${archive}.${process.pid}`);
  renameSync(`${archive}.${process.pid}`, archive);
  return archive;
}

/** An image without a server: no container of it can start. */
function emptyArchive(folder: string): string {
  const archive = join(folder, "empty.tar.zst");
  sh(`mkdir -p ${folder}/empty/etc && tar -C ${folder}/empty -c . | zstd -q -o ${archive}`);
  return archive;
}

/** An engines folder as on a host that received two more images: a patched one, and one that does not start. */
export function enginesWithOtherImages(folder: string): { enginesDir: string; patched: string; empty: string } {
  const engine = join(folder, "mysql");
  mkdirSync(join(engine, "images"), { recursive: true });
  for (const name of ["image.tar.zst", "prepared.tar.zst"])
    symlinkSync(join(enginesDir, "mysql", name), join(engine, name));
  const add = (archive: string): string => {
    const sha256 = createHash("sha256").update(readFileSync(archive)).digest("hex");
    symlinkSync(archive, join(engine, "images", `${sha256}.tar.zst`));
    return sha256;
  };
  return { enginesDir: folder, patched: add(patchedArchive()), empty: add(emptyArchive(folder)) };
}
