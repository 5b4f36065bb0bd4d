import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { addProtectionGauge } from "#platform/telemetry/protection-gauge.ts";
import { warnOf } from "./compose-stores.ts";

const store = (protection: { versions: boolean; objectLock: boolean } | Error, hasOwnKey = true) => ({
  name: "archive",
  hasOwnKey,
  protection: async () => {
    if (protection instanceof Error) throw protection;
    return protection;
  },
});
const locked = { versions: true, objectLock: true };
const bare = { versions: false, objectLock: false };

test.each([
  ["a store with Object Lock and a key of its own for deletion", store(locked), []],
  ["a store with versions only", store({ versions: true, objectLock: false }), []],
  ["one key for everything", store(locked, false), ["object_store.shared_key"]],
  ["a store with neither", store(bare), ["object_store.unprotected"]],
  ["a store that is away", store(new Error("away")), ["object_store.unknown_protection"]],
])("at the start the worker warns of what lets a stolen key end backups: %s", async (_, given, codes) => {
  const warned: unknown[] = [];
  await warnOf({ warn: (about: object) => void warned.push(about) }, given);
  expect(warned).toEqual(codes.map((code) => expect.objectContaining({ code, store: "archive" })));
});

test("the metric of a store's protection has no value while the store is away", async () => {
  const registry = new Registry();
  addProtectionGauge(registry, [store(locked, false), { ...store(new Error("away")), name: "images/west" }]);
  const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("moorage_"));
  expect(lines).toEqual([
    'moorage_object_store_protection{store="archive",by="own_purge_key"} 0',
    'moorage_object_store_protection{store="archive",by="object_lock"} 1',
    'moorage_object_store_protection{store="archive",by="versions"} 1',
    'moorage_object_store_protection{store="images/west",by="own_purge_key"} 1',
  ]);
});
