/**
 * Clients of this API family, unmodified, and Schemathesis, against the running stack (`pnpm stack up --hosts 3`).
 *   pnpm test:conformance                 all of them; Schemathesis with 50,000 cases
 *   pnpm test:conformance --only NAME     linode-cli | linode_api4 | api-v4 | linodego | terraform | schemathesis
 *                                         terraform: the published provider, if there is one, and a replay of its calls
 *   pnpm test:conformance --cases N       N cases of Schemathesis
 *   pnpm test:conformance --ci            the short form: 1,000 cases, and Terraform databases with one node only.
 *                                         With MOORAGE_TURN, as in .ci/run, one version of linode_api4 and of linodego
 *   pnpm test:conformance --document FILE an OpenAPI document from disk instead of the served one
 *   pnpm test:conformance --write         only writes the table of clients and operations into docs/clients.md
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { everySecond } from "@moorage/testkit/turns.ts";
import { printSlowest, type Took } from "../../tools/slowest.ts";
import { chosen } from "../kit/chosen.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { withApiV4 } from "./api-v4.ts";
import { type Checks, newChecks, type Tally } from "./checks.ts";
import { type ClientTarget, checkCells, worksFor } from "./client-cells.ts";
import type { ClientName } from "./client-gaps.ts";
import { clientTable, committedTable, writeTable } from "./client-table.ts";
import { withLinodeApi4 } from "./linode-api4.ts";
import { withLinodeCli } from "./linode-cli.ts";
import { asTerraform, withLinodego } from "./linodego.ts";
import { withSchemathesis } from "./schemathesis.ts";
import { withTerraform } from "./terraform.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    cases: { type: "string" },
    ci: { type: "boolean", default: false },
    document: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const cases = Number(values.cases ?? (values.ci ? 1000 : 50_000));
const tallies: Record<string, Tally> = {};
const times: Took[] = [];

/** Each client has separate checks, named after it, so that several can run at the same time. */
async function run(name: string, suite: (checks: Checks) => Promise<void>): Promise<void> {
  const checks = newChecks(`${name}: `);
  tallies[name] = checks.tally;
  await checks.check("ran to its end", () => suite(checks));
  times.push(...checks.times);
}

const client = (name: ClientName, day: (target: ClientTarget, checks: Checks) => Promise<void>) => () =>
  run(name, async (checks) => checkCells(name, await worksFor((target) => day(target, checks)), checks));
const replay = (name: string, day: (target: ClientTarget, checks: Checks) => Promise<void>) => () =>
  run(name, async (checks) => {
    await worksFor((target) => day(target, checks));
  });

const atOnce: Record<string, (() => Promise<void>)[]> = {
  "linode-cli": [client("linode-cli 5.49.0", withLinodeCli)],
  linode_api4: everySecond(["5.40.0", "5.48.0"] as const).map((version) =>
    client(`linode_api4 ${version}`, withLinodeApi4(version)),
  ),
  "api-v4": [client("@linode/api-v4 0.158.0", withApiV4)],
  linodego: everySecond(["1.60.0", "1.69.1"] as const).map((version) =>
    client(`linodego ${version}`, withLinodego(version)),
  ),
  terraform: [
    replay("terraform, second generation", asTerraform("1.60.0")),
    replay("terraform, third generation", asTerraform("1.69.1")),
    ...(await withTerraform(values.ci ? "short" : "whole")).map(
      ({ name, run: day }) =>
        () =>
          run(name, day),
    ),
  ],
};
const alone: Record<string, (() => Promise<void>)[]> = {
  schemathesis: [
    () => run("schemathesis", (checks) => withSchemathesis(checks, cases, values.document && resolve(values.document))),
  ],
};
const selected = chosen("suite", { ...atOnce, ...alone }, values.only);

if (values.write) {
  await writeTable();
  process.exit();
}
await run("table", async ({ note }) => {
  note("docs/clients.md has the table that these clients give", (await committedTable()) === clientTable(), "");
});
await allowDeletions(200);
await Promise.all(selected.filter(([name]) => name in atOnce).flatMap(([, suites]) => suites.map((suite) => suite())));
for (const [, suites] of selected.filter(([name]) => name in alone)) for (const suite of suites) await suite();

console.table(tallies);
printSlowest("conformance", times);
const failed = Object.values(tallies).reduce((sum, tally) => sum + tally.failed, 0);
const passed = Object.values(tallies).reduce((sum, tally) => sum + tally.passed, 0);
console.log(`\nconformance: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
