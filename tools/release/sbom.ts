import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { byBytes, type Source } from "./checkout.ts";

type Component = { type?: string; name?: string; version?: string; "bom-ref": string };
type Bom = {
  serialNumber: string;
  metadata: { timestamp: string; component: Component };
  components: Component[];
  dependencies?: object[];
};

/**
 * What is in the program's tree, in CycloneDX, by pnpm from the lockfile. `stage` has its production dependencies. The
 * document's own number and time are those of the commit, because those of a build differ each time.
 * pnpm's graph of who needs whom differs too, and lacks edges: it is left out.
 */
export function writeSbom(source: Source, { name, stage, file }: { name: string; stage: string; file: string }): void {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--sbom-spec-version", "1.6", "--sbom-type", "application"];
  const text = execFileSync("pnpm", [...args, "--prod", "--filter-prod", `${name}...`], {
    cwd: stage,
    encoding: "utf8",
    maxBuffer: 1024 ** 3,
  });
  const bom = JSON.parse(text) as Bom;
  bom.serialNumber = `urn:uuid:${uuidOf(`${name} ${source.commit}`)}`;
  bom.metadata.timestamp = new Date(source.seconds * 1000).toISOString();
  delete bom.dependencies;
  bom.components.sort((a, b) => byBytes(a["bom-ref"], b["bom-ref"]));
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`);
}

/** A UUID of version 8: of a digest. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
