import { expect, test } from "vitest";
import { statusBy } from "./keys.ts";

const keys = { current: "k3", former: ["k2", "k1"] };
const use = (key: string | null, by = "users.tfa_secret") => ({ by, key, count: 2 });
const removable = (...given: Parameters<typeof statusBy>): string[] =>
  statusBy(...given).data.flatMap(({ id, removable: is }) => (is ? [id] : []));

test("a former key that nothing needs can be removed, the current one never", () => {
  expect(removable(keys, [], false)).toEqual(["k1", "k2"]);
  expect(removable(keys, [use("k1"), use("k3")], false)).toEqual(["k2"]);
});

test("while a need of an unknown key exists, or a recovery is open, no key can be removed", () => {
  expect(removable(keys, [use(null, "host h1")], false)).toEqual([]);
  expect(removable(keys, [], true)).toEqual([]);
});

test("a key that is needed and not in the ring is shown", () => {
  const { data } = statusBy(keys, [use("k0")], false);

  expect(data.at(-1)).toEqual({
    id: "k0",
    current: false,
    in_ring: false,
    needed_by: [{ by: "users.tfa_secret", count: 2 }],
    removable: false,
  });
});
