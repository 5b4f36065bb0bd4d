import { expect, test } from "vitest";
import { likelyMeant } from "./likely-meant.ts";

const database = [
  "label",
  "region",
  "type",
  "engine",
  "cluster_size",
  "encrypted",
  "ssl_connection",
  "replication_type",
  "allow_list",
  "fork",
  "updates",
];

test.each([
  ["allowlist", "allow_list"],
  ["allow-list", "allow_list"],
  ["allowList", "allow_list"],
  ["alow_list", "allow_list"],
  ["Type", "type"],
  ["tpye", "type"],
  ["lable", "label"],
  ["LABEL", "label"],
  ["encrpyted", "encrypted"],
  ["encryption", undefined],
  ["encypted", "encrypted"],
  ["clusterSize", "cluster_size"],
  ["cluster_szie", "cluster_size"],
  ["replicationtype", "replication_type"],
  ["sslconnection", "ssl_connection"],
  ["regoin", "region"],
])("%s was meant as %s", (name, meant) => {
  expect(likelyMeant(name, database)).toBe(meant);
});

test("the nearest name is suggested", () => {
  expect(likelyMeant("expiry_mont", ["expiry_year", "expiry_month"])).toBe("expiry_month");
});

test.each([
  "",
  "___",
  "\u0000",
  "\u202e",
  "é",
  "🚢",
  "label\u202e",
  "label\n",
  "a".repeat(65),
  "constructor",
  "toString",
])("%j is not taken for a typing error", (name) => {
  expect(likelyMeant(name, database)).toBeUndefined();
});
