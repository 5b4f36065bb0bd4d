import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { kinds } from "./table.ts";

const code = globSync("**/*.ts", { cwd: import.meta.dirname })
  .filter((file) => !file.endsWith(".test.ts"))
  .map((file) => readFileSync(`${import.meta.dirname}/${file}`, "utf8"));

test("every operation on a database that is defined has its row in the table, and only one", () => {
  const defined = code.flatMap((text) => [...text.matchAll(/export const \w+(?:: Change = \{| = defineChange\(\{)/g)]);
  expect(defined.length).toBeGreaterThan(10);
  expect(kinds).toHaveLength(defined.length);
  expect(new Set(kinds).size).toBe(kinds.length);
});

test("every operation on a database with several steps has its own workflow, and the others share one", async () => {
  const workflows = await import("../workflows.ts");
  const { columnChanges } = await import("./updates/table.ts");
  const shared = new Set(columnChanges.map(({ kind }) => kind));
  expect(Object.keys(workflows)).toEqual(
    expect.arrayContaining(["default", ...kinds.filter((kind) => !shared.has(kind))]),
  );
});
