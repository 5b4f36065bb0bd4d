/**
 * Fails on words that docs/writing.md replaces, in what other people read first: exported names, columns, commands of
 * the operator and all texts. Comments and local names are a matter of review.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";
import { readTexts } from "./read-texts.ts";

const root = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Word, and what to use instead. */
const banned: Record<string, string> = {
  ...Object.fromEntries(["want", "wants", "wanted"].map((word) => [word, "desired, requested"])),
  ...Object.fromEntries(
    ["tell", "tells", "told", "untold", "say", "says", "said"].map((word) => [word, "report, send, notify"]),
  ),
  ...Object.fromEntries(["hear", "hears", "heard", "unheard"].map((word) => [word, "reachable, last seen"])),
  ...Object.fromEntries(["leader", "leaders", "leads", "led"].map((word) => [word, "primary"])),
  ...Object.fromEntries(["keeper", "keepers"].map((word) => [word, "archiver"])),
  ...Object.fromEntries(["gate", "gates"].map((word) => [word, "firewall, proxy"])),
  ...Object.fromEntries(["chore", "chores"].map((word) => [word, "job"])),
  ...Object.fromEntries(["finding", "findings"].map((word) => [word, "alert"])),
  ...Object.fromEntries(["parting", "partings"].map((word) => [word, "archive branch"])),
  ...Object.fromEntries(["tails", "stray"].map((word) => [word, "errant transactions, unusable"])),
  ...Object.fromEntries(["mend", "mends", "mending"].map((word) => [word, "repair"])),
  depot: "image server",
  desk: "card admission",
  lookout: "upload watcher",
  strange: "warnings",
};

type Use = { where: string; text: string };

const wordsOf = (text: string): string[] =>
  text
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^A-Za-z]+/)
    .map((word) => word.toLowerCase());

/** The public interface has a few of the words, and clients depend on them. */
const ofTheInterface = new Set(["led", "all_led"]);

function exportedNames(): Use[] {
  const files = globSync("packages/*/src/**/*.ts", {
    cwd: root,
    exclude: ["**/*.test.ts", "**/testing/**", "packages/testkit/**"],
  });
  return files.flatMap((file) => {
    const { module } = parseSync(file, read(file));
    return module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ exportName: { name } }) => (name === null ? [] : [{ where: file, text: name }])),
    );
  });
}

/** Tables, columns, indexes and sequences: every identifier of the migrations, without comments and literals. */
const columns = (): Use[] =>
  globSync("packages/control-plane/migrations/*.sql", { cwd: root }).flatMap((file) => {
    const sql = read(file)
      .replaceAll(/--.*$/gm, "")
      .replaceAll(/'[^']*'/g, "");
    return [...new Set(sql.match(/\b[a-z]+(?:_[a-z0-9]+)*\b/g) ?? [])].map((text) => ({ where: file, text }));
  });

const commands = (): Use[] =>
  globSync("packages/cli/src/**/*.ts", { cwd: root, exclude: ["**/*.test.ts"] }).flatMap((file) =>
    [...read(file).matchAll(/\.(?:command|option|description)\(\s*"([^"]+)"(?:,\s*"([^"]+)")?/g)].flatMap(
      ([, name = "", help = ""]) => [
        { where: file, text: name },
        { where: file, text: help },
      ],
    ),
  );

const texts = async (): Promise<Use[]> => [...(await readTexts())].map(([code, text]) => ({ where: code, text }));

const uses = [...exportedNames(), ...columns(), ...commands(), ...(await texts())];
const faults = uses
  .filter(({ text }) => !ofTheInterface.has(text))
  .flatMap(({ where, text }) =>
    wordsOf(text)
      .filter((word) => Object.hasOwn(banned, word))
      .map((word) => `${where}: "${word}" in "${text}". Use: ${banned[word]}.`),
  );
for (const fault of faults) console.log(fault);
console.log(`${uses.length} names and texts, ${faults.length} banned words`);
process.exitCode = faults.length === 0 ? 0 : 1;
