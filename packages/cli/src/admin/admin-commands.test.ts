import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { operatorOperations } from "@moorage/contract/operator";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { nodesOf } from "../completion/scripts.ts";
import { adminCommands } from "./admin-commands.ts";

const nothing = (): never => {
  throw new Error("No command is run here.");
};
const output = { isForPrograms: () => false, list: nothing, printResult: nothing };
const admin: Command = adminCommands({ output, env: {}, progress: nothing, client: nothing });

test("every operation of the operator has a command", () => {
  const sources = globSync("*.ts", { cwd: import.meta.dirname })
    .filter((name) => !name.endsWith(".test.ts"))
    .map((name) => readFileSync(join(import.meta.dirname, name), "utf8"))
    .join("\n");
  const without = operatorOperations.filter(({ id }) => !new RegExp(`\\bcontract\\.${id}\\b`).test(sources));
  expect(without.map(({ id }) => id)).toEqual([]);
});

test("every command and every group says what it does, and no name is used twice", () => {
  const nodes = nodesOf(admin);
  expect(nodes.flatMap(({ next }) => next.filter(({ help }) => help === ""))).toEqual([]);
  for (const { path, next } of nodes)
    expect([path, new Set(next.map(({ name }) => name)).size]).toEqual([path, next.length]);
});

test("every option says what it is for", () => {
  const flags = nodesOf(admin).flatMap(({ path, flags: all }) => all.map(({ flag, help }) => ({ path, flag, help })));
  expect(flags.length).toBeGreaterThan(50);
  expect(flags.filter(({ help }) => help === "")).toEqual([]);
});
