import { expect, test } from "vitest";
import { startObjectStore } from "#testing/object-store.ts";

test("in a bucket with versions, exactly the named objects are deleted, with all versions and markers", async () => {
  await using store = await startObjectStore({ objectLock: true });
  const keys = ["a/1", "a/1", "a/10", "a/2", "b/1"].map((name) => `accounts/${name}`);
  for (const key of keys) await store.put(key, "x");
  await store.delete("accounts/a/2");

  expect(await store.purging.deleteMany(["accounts/a/1", "accounts/a/2", "accounts/missing"])).toBeUndefined();
  expect((await store.versions()).map(({ key }) => key).sort((a, b) => a.localeCompare(b))).toEqual([
    "accounts/a/10",
    "accounts/b/1",
  ]);
  expect(await store.purging.deleteAll("accounts/b/")).toBeUndefined();
  expect((await store.versions()).map(({ key }) => key)).toEqual(["accounts/a/10"]);
});

test("a refusal that no retention explains is a fault, with Object Lock too", async () => {
  await using store = await startObjectStore({ objectLock: true });
  await store.put("other/1", "x");
  await expect(store.purging.deleteMany(["other/1"])).rejects.toThrow("The object store did not delete other/1");
  expect(await store.keys()).toEqual(["other/1"]);
});

test("an object that is refused for another reason is a fault, also beside locked ones", async () => {
  await using store = await startObjectStore({ objectLock: true });
  await store.putLocked("accounts/1", "x", new Date(Date.now() + 3_600_000));
  expect([...((await store.purging.deleteMany(["accounts/1"]))?.keys ?? [])]).toEqual(["accounts/1"]);

  await store.put("other/1", "x");
  const both = store.purging.deleteMany(["accounts/1", "other/1"]);
  await expect(both).rejects.toThrow("The object store did not delete other/1");
});
