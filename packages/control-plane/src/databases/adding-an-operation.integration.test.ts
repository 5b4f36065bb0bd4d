import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { removeFolder } from "@moorage/testkit/folders.ts";
import { expect, test } from "vitest";
import { startTemporal } from "#testing/temporal.ts";
import type * as AgentKit from "#testing/database-on-agent.ts";
import type * as WorldKit from "#testing/world.ts";

const home = join(import.meta.dirname, "../..");
const page = readFileSync(join(home, "../../docs/adding-an-operation.md"), "utf8");

/**
 * A copy of the control plane's code, beside the original, with a contract of its own: texts are registered once. What
 * both use from elsewhere is linked.
 */
function copyOfTheCode() {
  const copy = mkdtempSync(join(home, ".copy-"));
  const copyPackage = (name: string): void => {
    const original = join(home, "..", name);
    const filter = (path: string): boolean => !path.endsWith(".test.ts");
    cpSync(join(original, "src"), join(copy, name, "src"), { recursive: true, filter });
    cpSync(join(original, "package.json"), join(copy, name, "package.json"));
    for (const path of globSync(["[!@.]*", "@*/*"], { cwd: join(original, "node_modules") })) {
      const link = join(copy, name, "node_modules", path);
      mkdirSync(dirname(link), { recursive: true });
      const isOwn = path === "@moorage/contract";
      symlinkSync(isOwn ? join(copy, "contract") : join(original, "node_modules", path), link);
    }
  };
  copyPackage("contract");
  copyPackage("control-plane");
  return {
    path: (file: string) => join(copy, "control-plane/src", file),
    [Symbol.dispose]: () => removeFolder(copy),
  };
}

/** The file that the page shows, and its line in the table. */
function addAsThePageSays({ path }: ReturnType<typeof copyOfTheCode>): void {
  const [, name = "", code = ""] = /`updates\/([\w-]+\.ts)`:\n\n```ts\n(.*?)```/s.exec(page) ?? [];
  writeFileSync(path(`databases/updates/${name}`), code);
  const table = path("databases/updates/table.ts");
  const [, exported = ""] = /export const (\w+) = defineChange/.exec(code) ?? [];
  const listed = readFileSync(table, "utf8").replace("ColumnChange[] = [", `$&\n  ${exported},`);
  writeFileSync(table, `import { ${exported} } from "./${name}";\n${listed}`);
}

test("an operation on a database is one file and its line in the table, as the page shows", async () => {
  using copy = copyOfTheCode();
  addAsThePageSays(copy);
  const { newWorld }: typeof WorldKit = await import(copy.path("testing/world.ts"));
  const { databaseOnAgent, untilSettled }: typeof AgentKit = await import(copy.path("testing/database-on-agent.ts"));
  await using temporal = await startTemporal();
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal);
  await database.alice.put(database.url, { allow_list: ["203.0.113.7"] });
  await database.work();
  await untilSettled(world);
  expect(database.specOnHost().database.allow_list).toEqual(["203.0.113.7"]);

  expect(await database.alice.post(`${database.url}/isolate`)).toMatchObject({ status: 200 });
  await untilSettled(world);

  expect(database.specOnHost().database.allow_list).toEqual([]);
  expect((await database.alice.get(database.url)).body).toMatchObject({ status: "active", allow_list: [] });
  expect((await world.events()).at(-1)).toMatchObject({ action: "database_update", status: "finished" });
});
