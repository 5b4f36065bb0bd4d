/** Bundles the workflows into the file named by the first argument, so that workers start without bundling. */
import { writeFile } from "node:fs/promises";
import { bundleWorkflows } from "#platform/temporal/bundle.ts";

const [out] = process.argv.slice(2);
if (out === undefined) {
  console.error("Usage: bundle-workflows.ts FILE");
  process.exit(2);
}
await writeFile(out, (await bundleWorkflows()).code);
