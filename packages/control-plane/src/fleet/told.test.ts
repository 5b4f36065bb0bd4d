import { randomBytes } from "node:crypto";
import type { NodeSpec } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { createSealer } from "#platform/seal.ts";
import { isOurSpec, isOurStatement, provenDigest, sealSpec, signStatement, wasSent } from "./told.ts";

const newKey = (): string => randomBytes(32).toString("base64");
const keys = { k1: newKey(), k2: newKey() };
const sealer = createSealer({ current: "k1", keys });
const [HOST, OTHER] = [7, 8];

const spec: NodeSpec = {
  version: 1,
  node: "11111111-1111-4111-8111-111111111111",
  epoch: 2,
  generation: 3,
  database: {
    account: 1,
    id: 1025,
    label: "shop",
    region: "eu-central",
    plan: "m1-small",
    engine: "mysql/9.7.4",
    cluster_size: 1,
    replication_type: "none",
    encrypted: false,
    ssl_connection: true,
    allow_list: ["203.0.113.7"],
    created: "2026-06-01T12:00:00.000Z",
  },
  ordinal: 0,
  engine: { name: "mysql", version: "9.7.4", image: "a".repeat(64), prepared: "b".repeat(64) },
  resources: { memory_mb: 1024, vcpus: 1, disk_mb: 10_240 },
  network: { address: "10.0.0.1", port: 20_777 },
  uid: 2_000_000_777,
  server_id: 7,
  credentials: { username: "dbadmin", version: 1 },
};
const sealed = sealSpec(sealer, HOST, spec);

test("a host can give back a spec that it was sent, whatever the order of its keys", () => {
  const turned = Object.fromEntries(Object.entries(sealed).toReversed()) as NodeSpec;
  expect(isOurSpec(sealer, HOST, turned)).toBe(true);
  expect(wasSent(sealer, HOST, { ...sealed })).toBe(true);
});

test.each<[string, NodeSpec, number]>([
  ["that was sent to another host", sealed, OTHER],
  ["without a seal", spec, HOST],
  ["of a later generation", { ...sealed, generation: 4 }, HOST],
  ["of another node", { ...sealed, node: "22222222-2222-4222-8222-222222222222" }, HOST],
  ["of another database", { ...sealed, database: { ...spec.database, id: 2049 } }, HOST],
  ["with a tombstone that was added", { ...sealed, tombstone: { operation: 1 } }, HOST],
  ["with a longer allow list", { ...sealed, database: { ...spec.database, allow_list: ["0.0.0.0/0"] } }, HOST],
  [
    "with the seal of another generation",
    { ...spec, seal: sealSpec(sealer, HOST, { ...spec, generation: 4 }).seal },
    HOST,
  ],
  ["with a seal that is no seal", { ...spec, seal: "x" }, HOST],
])("a spec %s is refused", (_, claimed, host) => {
  expect(isOurSpec(sealer, host, claimed)).toBe(false);
});

test("a digest keeps the reports, and the specs that were sent to this host", () => {
  const report = { node: spec.node, epoch: 2, generation: 3, state: "running" as const, percent: 100 };
  expect(provenDigest(sealer, HOST, [{ ...report, spec: sealed }])).toEqual({
    reports: [{ ...report, spec }],
    refused: [],
  });
  const forged = { ...sealed, database: { ...spec.database, account: 2 } };
  expect(provenDigest(sealer, HOST, [{ ...report, spec: forged }])).toEqual({
    reports: [report],
    refused: [spec.node],
  });
});

const position = { server: "7", timeline: 1, lsn: 4096 };
const told = signStatement(sealer, HOST, { epoch: 2, revision: 5, position });

test("a statement is that of one host, epoch, revision and position", () => {
  expect(isOurStatement(sealer, HOST, told)).toBe(true);
  expect(isOurStatement(sealer, OTHER, told)).toBe(false);
  for (const change of [{ epoch: 3 }, { revision: 6 }, { position: { ...position, lsn: 4097 } }, { seal: "" }])
    expect(isOurStatement(sealer, HOST, { ...told, ...change })).toBe(false);
});

test("after a change of the key the statements made with the earlier one count, as long as the ring has it", () => {
  expect(isOurStatement(createSealer({ current: "k2", keys }), HOST, told)).toBe(true);
  expect(isOurStatement(createSealer({ current: "k2", keys: { k2: keys.k2 } }), HOST, told)).toBe(false);
});
