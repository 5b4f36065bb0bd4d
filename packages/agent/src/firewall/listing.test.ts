import { expect, test } from "vitest";
import { differences, readListing, desiredLists } from "./listing.ts";
import type { Opening } from "./ruleset.ts";
import { readSources } from "./sources.ts";

const sources = readSources(["192.0.2.0/24", "198.51.100.7/32", "::102:304/128"]);
const opening: Opening = { node: "n", port: 20_007, to: { address: "10.64.0.9", address6: "fd6d::1" }, sources };

const set = (name: string, elem: unknown[]) => ({ set: { name, elem } });
const map = (name: string, value: unknown) => ({ map: { name, elem: [[20_007, value]] } });
const ports = map("ports", { goto: { target: "db_20007" } });
const v4 = set("v4_20007", ["198.51.100.7", { prefix: { addr: "192.0.2.0", len: 24 } }]);
const v6 = set("v6_20007", ["::1.2.3.4"]);
const listing = (...objects: object[]) => readListing(JSON.stringify({ nftables: [{ metainfo: {} }, ...objects] }));
const nobody = [set("calls", []), { map: { name: "member4" } }, { map: { name: "callers" } }];
const found = (...objects: object[]) => differences(listing(...objects, ...nobody).lists, desiredLists([opening], []));

test("nft's order and notation of elements do not matter", () => {
  expect(found(ports, map("node4", "10.64.0.9"), map("node6", "fd6d:0::1"), v4, v6)).toEqual([]);
});

test("an added range, a missing set and a changed destination are detected", () => {
  const open = set("v4_20007", [{ range: ["0.0.0.0", "9.9.9.9"] }, "198.51.100.7"]);
  expect(found(ports, map("node4", "10.64.0.10"), map("node6", "fd6d::1"), open)).toEqual([
    "node4",
    "v4_20007",
    "v6_20007",
  ]);
});

test("an inserted rule, another policy and a dormant table are detected", () => {
  const rule = (verdict: string, handle: number) => ({
    rule: { chain: "firewall", handle, expr: [{ [verdict]: null }] },
  });
  const chain = (policy: string) => ({ chain: { name: "firewall", handle: 3, policy } });
  const right = listing({ table: { handle: 1 } }, chain("accept"), rule("drop", 4)).rules;
  const again = listing({ table: { handle: 8 } }, chain("accept"), rule("drop", 9)).rules;
  expect(differences(again, right)).toEqual([]);
  const wrong = listing({ table: { flags: "dormant" } }, chain("accept"), rule("accept", 4), rule("drop", 5)).rules;
  expect(differences(wrong, right)).toEqual(["table", "firewall"]);
  expect(differences(listing({ table: {} }, chain("drop"), rule("drop", 4)).rules, right)).toEqual(["firewall"]);
});

test("peers match nft's listing, and a connection allowed by hand is detected", () => {
  const peering = { node: "n", port: 24_103, address: "10.64.0.9", own: "10.9.0.1", others: ["10.9.0.2", "10.9.0.3"] };
  const lists = (...calls: [string, string, number][]) =>
    listing(
      { map: { name: "ports", elem: [[24_103, { goto: { target: "peers_24103" } }]] } },
      { map: { name: "node4" } },
      { map: { name: "node6" } },
      { map: { name: "member4", elem: [[24_103, "10.64.0.9"]] } },
      { map: { name: "callers", elem: [["10.64.0.9", "10.9.0.1"]] } },
      set(
        "calls",
        calls.map((concat) => ({ concat })),
      ),
    ).lists;
  const [first, second] = [
    ["10.64.0.9", "10.9.0.2", 24_103],
    ["10.64.0.9", "10.9.0.3", 24_103],
  ] as const satisfies [string, string, number][];
  const desired = desiredLists([], [peering]);
  expect(differences(lists(second, first), desired)).toEqual([]);
  expect(differences(lists(first, second, ["10.64.0.9", "10.9.0.4", 24_103]), desired)).toEqual(["calls"]);
});
