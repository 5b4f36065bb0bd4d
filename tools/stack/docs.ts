import { join } from "node:path";
import { buildSite } from "../docs-site/build.ts";
import { docsUrl, loopback, ports } from "./addresses.ts";
import { answers } from "./health.ts";
import { withLock } from "./lock.ts";
import { node, repo } from "./paths.ts";
import type { Service } from "./services.ts";

const program = (name: string): string => join(repo, "tools", "docs-site", `${name}.ts`);

/** It serves whatever was built last, so it runs without a site too. */
export const docs: Service = {
  name: "docs",
  kind: "part",
  command: [node, program("server")],
  env: { DOCS_PORT: String(ports.docs) },
  address: loopback(ports.docs),
  healthy: answers(`${docsUrl}/health`, 200),
  sources: [program("server"), program("build")],
};

/** The stack is of use without its documentation. Stacks of one checkout share the site. */
export async function ensureDocs(): Promise<void> {
  try {
    await withLock("docs", buildSite);
  } catch {
    console.log("  The documentation was not built: pnpm docs:build prints why.");
  }
}
