import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readSettings, type SettingFields } from "@moorage/contract/settings";
import { expect, test } from "vitest";
import { agentSettings } from "../packages/agent/src/config.ts";
import { gatekeeperSettings } from "../packages/agent/src/gatekeeper/config.ts";
import { clientVariables } from "../packages/contract/src/settings/client-variables.ts";
import { processSettings } from "../packages/control-plane/src/process-settings.ts";

const root = join(import.meta.dirname, "..");
const processes: Record<string, SettingFields> = {
  ...processSettings,
  agent: agentSettings,
  gatekeeper: gatekeeperSettings,
};
const settings = Object.values(processes).flatMap((fields) => Object.entries(fields));
const names = new Set(settings.map(([name]) => name));

test("every setting has a description", () => {
  const sentence = /^[A-Z`].*\.$/;
  expect(settings.filter(([, field]) => !sentence.test(field.description ?? "")).map(([name]) => name)).toEqual([]);
});

test("the page lists every setting once", () => {
  const page = readFileSync(join(root, "docs/operating/settings.md"), "utf8");
  const listed = [...page.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
  expect(listed).toHaveLength(names.size);
  expect(new Set(listed)).toEqual(names);
});

test("a setting that is secret for one process is secret for all", () => {
  const secret = new Set(settings.filter(([, field]) => field.meta()?.["secret"] === true).map(([name]) => name));
  expect(settings.filter(([name, field]) => secret.has(name) && field.meta()?.["secret"] !== true)).toEqual([]);
  expect(secret.size).toBeGreaterThan(0);
});

/** A process inherits the environment of the shell that starts it. */
test("no process refuses a variable of the command line, of the stack or of tests", () => {
  const used = globSync(["{tools,tests}/**/*.ts", "packages/*/src/**/*.ts", "bin/*"], { cwd: root })
    .filter((path) => !path.includes("/settings/") && !path.endsWith("wrong-settings.test.ts"))
    .flatMap((path) => readFileSync(join(root, path), "utf8").match(/\bMOORAGE_[A-Z0-9_]*[A-Z0-9]\b/g) ?? []);
  // Beginnings of names in regular expressions.
  const begins = ["MOORAGE_CLIENT", "MOORAGE_KEYS", "MOORAGE_S3"];
  const unknown = [...new Set(used)].filter((name) => !names.has(name) && !(name in clientVariables));
  expect(unknown.filter((name) => !begins.includes(name))).toEqual([]);
});

test.each(Object.entries(processes))("%s names all the settings that it lacks", (_name, fields) => {
  const required = Object.keys(fields).filter((name) => fields[name]?.safeParse(undefined).success === false);
  expect(required).not.toEqual([]);
  for (const name of required) expect(() => readSettings(fields, {})).toThrow(`${name} is not set`);
});
