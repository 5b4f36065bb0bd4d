/**
 * Generates the table of fault drills in docs/testing.md, and the figures of drills in docs/performance.md from
 * `tests/faults/results`. Without `--write`: fails if a document differs from them.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tableOf } from "../tests/faults/drill.ts";
import { type DrillResult, readResults, recordedResults } from "../tests/faults/drill-result.ts";
import { drills } from "../tests/faults/drills.ts";
import type { CountName } from "../tests/faults/ledger.ts";

const docs = join(import.meta.dirname, "..", "docs");
const tableOfDrills = /(<!-- drills: begin.*-->\n)[^]*?(<!-- drills: end -->)/;
/** A table of figures names its drills in its first line. */
const figuresOfDrills = /(<!-- figures of ([a-z, -]+): begin.*-->\n)[^]*?(<!-- figures: end -->)/g;

const labels: Record<CountName, string> = {
  named: "named",
  chosen: "chosen",
  fired: "fired",
  wrong: "wrong",
  elections: "elections",
  connections: "connections",
  failures: "failed",
  acknowledged: "writes acknowledged",
  lost: "lost",
  unsure: "unsure",
  probes: "direct tries",
};

const results = new Map(readResults(recordedResults).map((result) => [result.drill, result]));

function row(name: string): string {
  const [drill, result] = [drills.find((each) => each.name === name), results.get(name)];
  if (drill === undefined || result === undefined)
    throw new Error(`docs/performance.md quotes ${name}, of which tests/faults/results has no result.`);
  const measured = [timesOf(result, drill.measures), trialsOf(result), countsOf(result), result.remarks]
    .filter(Boolean)
    .join("; ");
  return `| \`${name}\`: ${drill.question} | ${measured} | ${drill.goal ?? ""} | ${originOf(result)} |`;
}

function timesOf({ times }: DrillResult, measures = "time"): string | undefined {
  if (times === undefined) return undefined;
  const { count = 1, min, p50, p95, max } = times;
  const range = max === undefined ? undefined : min === undefined ? `at most ${max} s` : `${min} to ${max} s`;
  const all = [p50 === undefined ? undefined : `p50 ${p50} s`, p95 === undefined ? undefined : `p95 ${p95} s`, range];
  const found = min !== undefined && min === max ? `${max} s` : all.filter(Boolean).join(", ");
  return `${measures}: ${found}${count > 1 ? ` (${count} times)` : ""}`;
}

function trialsOf({ trials, failed = 0, form }: DrillResult): string {
  const all = trials === undefined ? [] : [`${trials} trial${trials === 1 ? "" : "s"}`];
  return [...all, ...(failed > 0 ? [`${failed} failed`] : []), ...(form === "short" ? ["short form"] : [])].join(", ");
}

const countsOf = ({ counts = {} }: DrillResult): string =>
  (Object.keys(labels) as CountName[])
    .flatMap((name) => (counts[name] === undefined ? [] : [`${counts[name].toLocaleString("en")} ${labels[name]}`]))
    .join(", ");

const originOf = ({ date, commit }: DrillResult): string =>
  date === undefined || commit === undefined ? "not noted" : `${date}, ${commit}`;

const figures = (names: readonly string[]): string =>
  ["| | measured | goal | date, commit |", "|---|---|---|---|", ...names.map(row), ""].join("\n");

function testing(text: string): string {
  if (!tableOfDrills.test(text)) throw new Error("docs/testing.md lacks the lines <!-- drills: begin --> and end.");
  return text.replace(tableOfDrills, (_, begin: string, end: string) => `${begin}${tableOf(drills)}${end}`);
}

function performance(text: string): string {
  const unquoted = new Set(results.keys());
  const made = text.replace(figuresOfDrills, (_, begin: string, list: string, end: string) => {
    const names = list.split(", ");
    for (const name of names) unquoted.delete(name);
    return `${begin}${figures(names)}${end}`;
  });
  if (unquoted.size > 0)
    throw new Error(
      `docs/performance.md does not quote the results of ${[...unquoted].join(", ")}: add the names to a line <!-- figures of ... -->.`,
    );
  return made;
}

for (const [name, make] of Object.entries({ "testing.md": testing, "performance.md": performance })) {
  const file = join(docs, name);
  const text = readFileSync(file, "utf8");
  const made = make(text);
  if (process.argv.includes("--write")) writeFileSync(file, made);
  else if (made !== text) {
    console.error(`docs/${name} does not have the drills and results of tests/faults: run pnpm drills.`);
    process.exitCode = 1;
  }
}
