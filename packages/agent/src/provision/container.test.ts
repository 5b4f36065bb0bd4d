import { expect, test } from "vitest";
import { hostPaths, nodePaths } from "../base/host-paths.ts";
import { nodeNetwork } from "../node/network.ts";
import { memberSpec, testSpec } from "../testing/node-spec.ts";
import { desiredServer, isWrittenFor } from "./container.ts";

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

const network = nodeNetwork("11111111-1111-4111-8111-111111111111", "10.0.0.1");

const serverFor = (spec: ReturnType<typeof testSpec>, ordinal = 0, fixed = "[mysqld]\n") => {
  const host = hostPaths("/var/lib/moorage");
  return desiredServer({
    spec,
    host,
    paths: nodePaths(host, spec.node, ordinal),
    network,
    networkId: 7,
    fixed,
    limits: { nofile: 65_535, nproc: 5000 },
  });
};

/** The value with one leaf after the other changed or, if it is optional, left out. */
function* changesOf(value: Json, path = ""): Generator<[path: string, changed: Json]> {
  if (Array.isArray(value)) {
    for (const [index, part] of value.entries())
      for (const [inner, changed] of changesOf(part, `${path}.${index}`)) yield [inner, value.with(index, changed)];
  } else if (typeof value === "object" && value !== null)
    for (const [key, part] of Object.entries(value)) {
      for (const [inner, changed] of changesOf(part, `${path}.${key}`)) yield [inner, { ...value, [key]: changed }];
      const { [key]: _left, ...rest } = value;
      if (["tls", "archive", "cluster"].includes(key)) yield [`${path}.${key} left out`, rest];
    }
  else if (typeof value === "boolean") yield [path, !value];
  else if (typeof value === "number") yield [path, value + 1];
  else if (value === "asynch" || value === "semi_synch") yield [path, value === "asynch" ? "semi_synch" : "asynch"];
  else yield [path, `${value}9`];
}

const tls = { names: ["db-1-mysql-primary.moorage.test"], version: 1 };
const archive = { recipient: "age1", log_seconds: 60, copy_hours: { from: 20, to: 24 }, verify_days: 7 };
const encrypted = testSpec({ tls, archive });

test.each([
  ["a member", memberSpec(1, { tls, archive })],
  ["an encrypted node", { ...encrypted, database: { ...encrypted.database, encrypted: true } }],
])("whatever of the spec of %s changes its options or my.cnf is part of its hash", (_, spec) => {
  const before = serverFor(spec);
  const without = ({ config, options: { Labels: _labels, ...options } }: typeof before): string =>
    JSON.stringify([options, config.slice(config.indexOf("\n"))]);
  const unnoticed = [...changesOf(spec as Json)].flatMap(([path, changed]) => {
    // The member's own name in the list is the same node.
    const after =
      path === ".node" || path.startsWith(".cluster.members.1.node") ? before : serverFor(changed as typeof spec);
    return without(after) !== without(before) && after.hash === before.hash ? [path] : [];
  });
  expect(unnoticed).toEqual([]);
});

test("a server is made anew for another image, plan, timeline or data directory", () => {
  const before = serverFor(testSpec());
  const { engine, resources } = testSpec();
  for (const after of [
    serverFor(testSpec({ engine: { ...engine, image: "1".repeat(64) } })),
    serverFor(testSpec({ resources: { ...resources, memory_mb: 2048 } })),
    serverFor(testSpec(), 1),
    serverFor(testSpec(), 0, "[mysqld]\nlower_case_table_names = 1\n"),
  ])
    expect(after.hash).not.toBe(before.hash);
});

test("a file that an earlier agent wrote for the same server stays", () => {
  const desired = serverFor(testSpec());
  const [firstLine] = desired.config.split("\n");
  expect(isWrittenFor(`${firstLine}\n[mysqld]\n# an earlier template\n`, desired)).toBe(true);
  expect(isWrittenFor(desired.config, serverFor(testSpec({ server_id: 42 })))).toBe(false);
  expect(isWrittenFor(undefined, desired)).toBe(false);
});
