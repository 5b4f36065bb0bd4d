/** Runs the examples of the client's README, in order and verbatim. */
import { readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileFunction } from "node:vm";
import * as client from "@moorage/client";
import * as contract from "@moorage/contract";
import { expect, test } from "vitest";
import { served } from "./testing/served.ts";
import { newWorld } from "./testing/world.ts";

const readme = readFileSync(join(import.meta.dirname, "../../client/README.md"), "utf8");
const examples = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code ?? "");

const modules: Readonly<Record<string, unknown>> = {
  "@moorage/client": client,
  "@moorage/contract": contract,
  "node:fs": await import("node:fs"),
  "node:tls": await import("node:tls"),
};

/** Runs one and returns what it printed. */
async function run(example: string, given: Record<string, unknown>): Promise<unknown[][]> {
  const printed: unknown[][] = [];
  const console = { log: (...values: unknown[]) => printed.push(values) };
  const imported = example.replaceAll(/^import (\{.*?\}) from (".*?");$/gm, "const $1 = modules[$2];");
  const names = { ...given, modules, console };
  const code = `return (async () => {\n${stripTypeScriptTypes(imported)}\n})()`;
  const body = compileFunction(code, Object.keys(names)) as (...values: unknown[]) => Promise<void>;
  await body(...Object.values(names));
  return printed;
}

test("the examples of the client's README work", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token } = await world.customer();
  const authority = join(tmpdir(), `${token}.pem`);
  writeFileSync(authority, world.databaseCa.certificate);
  const given = { url: api.url, token, authority };
  const [call = "", wait = "", read = "", refusal = "", ownFetch = ""] = examples;
  expect(examples).toHaveLength(5);

  expect(await run(call, given)).toEqual([["provisioning"]]);

  const waiting = run(wait, given);
  const events = () => world.db.updateTable("events").set({ status: "finished" }).where("status", "=", "started");
  await expect
    .poll(() => events().where("entity_label", "=", "shop").executeTakeFirst())
    .toMatchObject({ numUpdatedRows: 1n });
  expect((await waiting).at(-1)).toEqual([expect.any(Number), "finished"]);

  await world.db.updateTable("databases").set({ status: "active" }).execute();
  expect(await run(read, given)).toEqual([[expect.any(Number), "orders"]]);

  const [[status, errors, reason] = []] = await run(refusal, given);
  expect([status, reason]).toEqual([400, expect.stringContaining("3 to 32 characters")]);
  expect(errors).toEqual([{ field: "label", reason }]);

  expect(await run(ownFetch, given)).toEqual([["GET", `${api.url}v4/regions`], [1]]);
});
