import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { changeText, type Opening, wholeTable } from "./ruleset.ts";
import { readSources } from "./sources.ts";

const opening = (...sources: string[]): Opening => ({
  node: "11111111-1111-4111-8111-111111111111",
  port: 20_007,
  to: { address: "10.64.0.9", address6: "fd6d::1" },
  sources: readSources(sources),
});

test("the file loaded at boot is the table without openings", () => {
  const file = readFileSync(join(import.meta.dirname, "../../boot/firewall-closed.nft"), "utf8");
  const rules = file.split("\n").filter((line) => !line.startsWith("#"));
  expect(rules.join("\n")).toBe(wholeTable([], []));
});

test("a new list replaces both sets in one transaction", () => {
  expect(changeText(opening("192.0.2.0/24", "192.0.2.1/32"))).toBe(
    [
      "flush set inet moorage v4_20007",
      "add element inet moorage v4_20007 { 192.0.2.0/24 }",
      "flush set inet moorage v6_20007",
      "",
    ].join("\n"),
  );
});
