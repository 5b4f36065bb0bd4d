import { expect, test } from "vitest";
import { mostAdvanced } from "./bootstrapping.ts";

const A = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const B = "7c2a1d0e-0000-4000-8000-000000000001";
const holders = (gtids: readonly string[]) => gtids.map((gtid, ordinal) => ({ node: `n${ordinal}`, ordinal, gtid }));

test.each([
  ["the longest", [`${A}:1-5`, `${A}:1-7`, `${A}:1-6`], "n1"],
  ["of equals, the first", [`${A}:1-5`, `${A}:1-7`, `${A}:1-7`], "n1"],
  ["a gap is filled by another", [`${A}:1-7:9`, `${A}:1-9`, `${A}:1-6`], "n1"],
  ["all empty", ["", "", ""], "n0"],
  ["the only one that reported", [`${A}:1-5`], "n0"],
  ["each has what another lacks", [`${A}:1-5,${B}:1`, `${A}:1-7`, `${A}:1-6`], undefined],
])("the most advanced: %s", (_, gtids, node) => {
  expect(mostAdvanced(holders(gtids))?.node).toBe(node);
});
