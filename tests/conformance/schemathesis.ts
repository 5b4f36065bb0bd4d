import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { operations } from "@moorage/contract";
import { inParts } from "../../tools/stack/paths.ts";
import { env } from "../kit/stack-env.ts";
import { type Tenant, tenant } from "../kit/tenant.ts";
import type { Checks } from "./checks.ts";
import { type Answer, answered, type Count, countingProxy, OTHER } from "./counting-proxy.ts";
import { type FuzzAccount, fuzzAccount } from "./fuzz-account.ts";
import { actingTokenId, aDayOfIdentity, identityBodies, type IdentityThings, identityThings } from "./fuzz-identity.ts";
import { aDayOfImages, imageBodies, imageThings } from "./fuzz-images.ts";
import { aDayOfMoney, moneyBodies, moneyInstead, moneyThings } from "./fuzz-money.ts";
import { aDayOfThree } from "./fuzz-three.ts";
import { newCompute } from "./money-things.ts";
import { type DocumentedOperation, documentedOperations, servedDocument } from "./openapi-document.ts";

const CHECKS = "not_a_server_error,response_schema_conformance,status_code_conformance,content_type_conformance";
/** Some operations run out of different inputs early; the next seed makes up for their share. */
const MOST_ROUNDS = 6;

type Report = {
  test_cases: { generated: number };
  failures: { type: string; title: string; count: number; operations: string[] }[];
  errors: { title: string; count: number }[];
};
/** What the hooks mix into the generated cases: see `schemathesis-hooks.py`. */
type Known = {
  path: Record<string, unknown>;
  body: Record<string, { fields: object; named?: string }>;
  filters: Record<string, string[]>;
  kept: Record<string, unknown[]>;
  victim: Record<string, unknown>;
  /** By the id of an operation that would end the fuzzer's own account, or needs another: the token to use for it. */
  instead: Record<string, string>;
};
type Run = Target & { url: string; seed: number; examples: number; options?: string[] };

export async function withSchemathesis(checks: Checks, cases: number, document = servedDocument()): Promise<void> {
  const documented = await documentedOperations(document);
  await using account = await fuzzAccount();
  const known = await knownThings(account);
  const spent = await identityThings(account);
  await fuzz(checks, documented, { document, token: account.token, known, spent, accountId: account.id }, cases);
  await plant(checks, documented, { document, token: account.token, known });
}

/** One database to read and one to delete; the third of the limit is left for the fuzzer's own create. */
async function knownThings(account: FuzzAccount): Promise<Known> {
  const { owner } = account;
  const [kept, victim] = await Promise.all(
    ["kept", "victim"].map(async (name) => (await owner.createSurely(`fuzz-${name}`)).id),
  );
  if (kept === undefined || victim === undefined) throw new Error("There are no databases to fuzz.");
  await owner.untilStatus(victim, "active", 180);
  await owner.untilStatus(kept, "active", 180);
  const [region, type, engine] = [env("MOORAGE_REGION"), env("MOORAGE_TYPE"), env("MOORAGE_ENGINE")];
  const eventId = (await owner.events(kept))[0]?.id;
  const [things, victims] = [await thingsOf(account), await thingsOf(account)];
  return {
    path: { ...things, instanceId: kept, eventId, engineId: engine, typeId: type, regionId: region },
    body: {
      createMysqlDatabase: {
        fields: { region, type, engine, cluster_size: 1, replication_type: "none" },
        named: "label",
      },
      ...identityBodies(kept),
      ...moneyBodies(await newCompute(account.id)),
      ...imageBodies(things.diskId),
    },
    filters: Object.fromEntries(
      operations.flatMap(({ id, filterable }) => (filterable === undefined ? [] : [[id, Object.keys(filterable)]])),
    ),
    kept: { ...lists(things), instanceId: [kept], tokenId: [things.tokenId, await actingTokenId(account)] },
    victim: { ...victims, instanceId: victim },
    instead: await moneyInstead(),
  };
}

const thingsOf = async (account: FuzzAccount) => ({
  ...(await identityThings(account)),
  ...(await moneyThings(account)),
  ...(await imageThings(account)),
});

const lists = (things: object): Record<string, unknown[]> =>
  Object.fromEntries(Object.entries(things).map(([name, value]) => [name, [value]]));

type Target = { document: string; token: string; known: Known };
type FuzzTarget = Target & { spent: IdentityThings; accountId: number };

/**
 * Operations that need another status or a backup, which random input hardly ever hits: done once in order, and counted
 * like the rest.
 */
async function aDay(owner: Tenant, id: number): Promise<void> {
  await owner.call("GET", `/v4/databases/engines/${encodeURIComponent(env("MOORAGE_ENGINE"))}`);
  const { id: own } = await owner.createSurely("fuzz-day");
  await owner.untilStatus(own, "active", 180);
  await owner.delete(own);
  await owner.actAndWait(id, "backups", "database_backup_create", { label: "day" });
  const [backup] = await owner.backups(id);
  await owner.call("GET", `/v4/databases/mysql/instances/${id}/backups/${backup?.id}`);
  await owner.actAndWait(id, `backups/${backup?.id}/restore`, "database_backup_restore");
  await owner.deleteBackup(id, backup?.id ?? 0);
  await owner.actAndWait(id, "credentials/reset", "database_credentials_reset");
  await owner.actAndWait(id, "patch", "database_update");
  await owner.actAndWait(id, "suspend", "database_update");
  await owner.actAndWait(id, "resume", "database_update");
}

/** After several transfers that do not exist the API assumes guessing, whatever the rate limits are. */
const BRAKED = new Set(["acceptServiceTransfer", "acceptEntityTransfer"]);

async function fuzz(
  { note }: Checks,
  documented: readonly DocumentedOperation[],
  { spent, accountId, ...target }: FuzzTarget,
  cases: number,
): Promise<void> {
  await using proxy = await countingProxy(documented);
  const owner = tenant(target.token, proxy.url);
  await aDayOfIdentity(owner, spent);
  await aDayOfMoney(owner, accountId, proxy.url);
  await aDayOfImages(owner, accountId);
  await aDay(owner, Number(target.known.path["instanceId"]));
  await aDayOfThree(proxy.url);
  let generated = 0;
  for (let seed = 1; generated < cases && seed <= MOST_ROUNDS; seed++) {
    const examples = Math.ceil((cases - generated) / documented.length);
    const { report, output } = await schemathesis({ ...target, url: proxy.url, seed, examples });
    generated += report.test_cases.generated;
    const found = [...report.failures, ...report.errors];
    if (
      !note(`seed ${seed}: nothing found in ${report.test_cases.generated} cases`, found.length === 0, summaryOf(found))
    )
      console.log(output);
  }
  note(`at least ${cases} cases`, generated >= cases, `${generated}`);
  const counts = [...proxy.counts];
  console.table(Object.fromEntries(counts.map(([id, count]) => [id, rowOf(count)])));
  const total = (from: number, to: number) => counts.reduce((sum, [, count]) => sum + answered(count, from, to), 0);
  note("no answer is a 5xx", total(500, 599) === 0, `${total(500, 599)}`);
  const limited = counts.filter(([id, count]) => !BRAKED.has(id) && answered(count, 429, 429) > 0);
  note("no answer is a 429", limited.length === 0, limited.map(([id]) => id).join());
  for (const [id, count] of counts)
    if (id !== OTHER)
      note(
        `${id} reaches a 2xx`,
        answered(count, 200, 299) > 0,
        answered(count, 200, 299) > 0 ? "" : count.lastRefusal.slice(0, 300),
      );
}

/** Plants faults, to show that the tool would find them. */
async function plant(checks: Checks, documented: readonly DocumentedOperation[], target: Target): Promise<void> {
  const operationId = "listRegions";
  const faults: Record<string, [finding: string, fault: (answer: Answer) => Answer]> = {
    "a planted 500": ["ServerError", () => ({ status: 500, body: '{"errors":[{"reason":"planted"}]}' })],
    "a planted breach of the schema": [
      "JsonSchemaError",
      (answer) => ({ ...answer, body: answer.body.replace(/"results": ?\d+/, '"results":"many"') }),
    ],
  };
  for (const [name, [finding, fault]] of Object.entries(faults)) {
    await using proxy = await countingProxy(documented, (id, answer) => (id === operationId ? fault(answer) : answer));
    const options = ["--include-operation-id", operationId, "--phases", "fuzzing"];
    const { report } = await schemathesis({ ...target, url: proxy.url, seed: 1, examples: 10, options });
    checks.note(
      `${name} is found`,
      report.failures.some(({ type }) => type === finding),
      summaryOf(report.failures),
    );
  }
}

async function schemathesis(run: Run): Promise<{ report: Report; output: string }> {
  const folder = await mkdtemp(join(tmpdir(), "moorage-schemathesis-"));
  const reportFile = join(folder, "report.json");
  const args = [
    "run",
    run.document,
    "--origin",
    run.url,
    "-H",
    `Authorization: Bearer ${run.token}`,
    "--checks",
    CHECKS,
    "--seed",
    String(run.seed),
    "--max-examples",
    String(run.examples),
    "--continue-on-failure",
    "--generation-database",
    "none",
    "--suppress-health-check",
    "all",
    "--request-timeout",
    "180",
    "--no-color",
    "--report-json-path",
    reportFile,
    ...(run.options ?? []),
  ];
  const hooks = {
    SCHEMATHESIS_HOOKS: "schemathesis-hooks",
    PYTHONPATH: import.meta.dirname,
    KNOWN: JSON.stringify(run.known),
  };
  try {
    const output = await new Promise<string>((resolve) => {
      // Its exit code for found problems is 1; the problems are in the report. Without a report it did not run.
      execFile(
        inParts("bin", "schemathesis"),
        args,
        { cwd: folder, env: { ...process.env, ...hooks, PYTHONDONTWRITEBYTECODE: "1" }, maxBuffer: 2 ** 28 },
        (_, stdout, stderr) => resolve(stdout + stderr),
      );
    });
    const report = await readFile(reportFile, "utf8").catch(() => Promise.reject(new Error(output)));
    return { report: JSON.parse(report) as Report, output };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const summaryOf = (found: readonly { title: string; count: number; operations?: string[] }[]): string =>
  found.map((each) => `${each.count} × ${each.title} (${each.operations?.join(", ") ?? ""})`).join("; ");

const rowOf = (count: Count) => ({
  all: answered(count, 0, 599),
  "2xx": answered(count, 200, 299),
  "4xx": answered(count, 400, 499),
  "5xx": answered(count, 500, 599),
  statuses: [...count.statuses].map(([status, times]) => `${status}×${times}`).join(" "),
});
