/**
 * Clients of this API family, unmodified, and Schemathesis, against the running stack (`pnpm stack up --hosts 3`).
 *   pnpm test:conformance                 all of them; Schemathesis with 5,000 cases
 *   pnpm test:conformance --only NAME     linode-cli | linodego | schemathesis
 *   pnpm test:conformance --cases N       so many cases of Schemathesis
 *   pnpm test:conformance --ci            the short form: 1,000 cases
 *   pnpm test:conformance --document FILE an OpenAPI document from disk instead of the served one
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { chosen } from "../kit/chosen.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { newChecks } from "./checks.ts";
import { withLinodeCli } from "./linode-cli.ts";
import { withLinodego } from "./linodego.ts";
import { withSchemathesis } from "./schemathesis.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    cases: { type: "string" },
    ci: { type: "boolean", default: false },
    document: { type: "string" },
  },
});
const cases = Number(values.cases ?? (values.ci ? 1000 : 5000));
const checks = newChecks();

const suites: Record<string, () => Promise<void>> = {
  "linode-cli": () => withLinodeCli(checks),
  linodego: () => withLinodego(checks),
  schemathesis: () => withSchemathesis(checks, cases, values.document && resolve(values.document)),
};
const asked = chosen("suite", suites, values.only);

await allowDeletions(200);
for (const [name, suite] of asked) {
  console.log(`\n--- ${name}`);
  await checks.check(`${name} ran to its end`, suite);
}
const { passed, failed } = checks.tally;
console.log(`\nconformance: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
