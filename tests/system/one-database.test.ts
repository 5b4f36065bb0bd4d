import { readFile, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { MysqlDatabase } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kill, waitHealthy } from "../../tools/stack/control.ts";
import { serverOf } from "../kit/cluster-faults.ts";
import { containers, filesWith, hostDir, hostNumbers, inspect, trash } from "../kit/host.ts";
import { untilNothingBroken } from "../kit/invariants.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { nodesOf } from "../kit/records.ts";
import { load, reach, sql } from "../kit/sql.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

const alice = tenant();

beforeAll(() => allowDeletions(500));

test("a database goes from provisioning to active with progress, accepts SQL, and leaves only its trash", async () => {
  const label = unique("story");
  const created = await alice.create(label);
  expect(created).toMatchObject({ status: 200, body: { label, status: "provisioning", port: null } });
  const { id } = created.body;

  const percents = new Set<number>();
  await until("the event is finished", 60, async () => {
    const [event] = await alice.events(id);
    percents.add(event?.percent_complete ?? -1);
    return event?.status === "finished";
  });
  expect(
    [...percents].filter((percent) => percent > 0 && percent < 100).length,
    `seen ${[...percents].join(", ")}`,
  ).toBeGreaterThan(0);
  const active = await alice.untilStatus(id, "active");
  expect(MysqlDatabase.parse(active)).toMatchObject({ port: expect.any(Number), total_disk_size_gb: 10 });

  const at = await reach(alice, id);
  await sql(
    at,
    "create database shop; create table shop.cakes (id int primary key, name text); insert into shop.cakes values (1, 'Linz')",
  );
  expect(await sql(at, "select name from shop.cakes")).toBe("Linz");

  const [node] = await nodesOf(id);
  expect((await alice.delete(id)).status).toBe(200);
  expect((await alice.view(id)).status).toBe(404);
  expect((await alice.list()).map((database) => database.id)).not.toContain(id);
  await alice.untilEvent(id, "database_delete");
  await untilNothingBroken();
  expect((await trash(at.host)).filter((name) => name.endsWith(node?.id ?? ""))).toHaveLength(1);
});

test("20 creates at once all become active, spread over the hosts, and all are deleted again", async () => {
  const labels = Array.from({ length: 20 }, (_, n) => unique(`burst-${n}`));
  const created = await Promise.all(labels.map((label) => alice.create(label)));
  expect(created.map(({ status }) => status)).toEqual(labels.map(() => 200));
  const ids = created.map(({ body }) => body.id);
  await Promise.all(ids.map((id) => alice.untilStatus(id, "active", 240)));

  const perHost = await Promise.all(hostNumbers().map(async (n) => (await containers(n)).length));
  expect(Math.max(...perHost) - Math.min(...perHost)).toBeLessThanOrEqual(2);
  await Promise.all(ids.map((id) => alice.delete(id)));
  await Promise.all(ids.map((id) => alice.untilEvent(id, "database_delete", 240)));
  await untilNothingBroken();
});

describe("an active database", () => {
  let id: number;
  let at: Awaited<ReturnType<typeof reach>>;
  let node: string;
  beforeAll(async () => {
    ({ id } = await alice.createSurely(unique("one")));
    await alice.untilStatus(id, "active");
    at = await reach(alice, id);
    node = (await nodesOf(id))[0]?.id ?? "";
  });
  afterAll(async () => {
    await alice.deleteSurely(id);
    await alice.untilEvent(id, "database_delete");
  });

  test("a node runs unprivileged, on a read-only root, within the memory, CPU and disk of its plan", async () => {
    const container = await inspect(at.host, node);

    expect(container.HostConfig).toMatchObject({ ReadonlyRootfs: true, Memory: 1024 ** 3, NanoCpus: 1e9 });
    const status = await readFile(`/proc/${container.State.Pid}/status`, "utf8");
    expect(Number(/^Uid:\s+(\d+)/m.exec(status)?.[1])).toBeGreaterThanOrEqual(2_000_000_000);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
    expect(await readFile(`/proc/${container.State.Pid}/mounts`, "utf8")).toMatch(/^overlay \/ overlay ro,/m);

    const volume = await statfs(join(hostDir(at.host), "nodes", node, "volume"));
    // A twentieth is reserved, so that a server never blocks on a full disk; it accepts no writes beyond the plan.
    expect((volume.blocks * volume.bsize) / 1024 ** 3).toBeLessThanOrEqual(10.5);
    const image = await stat(join(hostDir(at.host), "volumes", `${node}.img`));
    expect(image.blocks * 512).toBeLessThan(image.size);

    await expect(sql(at, "set global max_connections = 1")).rejects.toThrow(/Access denied/);
  });

  test("no file that the agent keeps on the host contains the password", async () => {
    expect(await sql(at, "select current_user()")).toBe("dbadmin@%");
    expect(await filesWith(at.host, at.username)).not.toEqual([]);
    expect(await filesWith(at.host, at.password)).toEqual([]);
  });

  test("a database serves while its agent is killed again and again", async () => {
    const running = load(at, 6);
    for (let n = 0; n < 3; n++) {
      kill(`agent-${at.host}`);
      await waitHealthy(`agent-${at.host}`);
    }
    expect(await running).toMatchObject({ failed: 0 });
  });

  test("a mysqld killed by hand is restarted with its rows", async () => {
    await sql(
      at,
      "create database shop; create table shop.cakes (id int primary key); insert into shop.cakes values (5)",
    );
    process.kill(await serverOf({ host: at.host, node }), "SIGKILL");
    const row = await until("it answers again", 60, () => sql(at, "select id from shop.cakes"));
    expect(row).toBe("5");
  });

  test("another account gets the same refusal as for a database that does not exist, except for the id", async () => {
    const mallory = tenant(env("MOORAGE_OTHER_TOKEN"));
    const withoutId = (reply: unknown, requestedId: number) =>
      JSON.stringify(reply).replaceAll(new RegExp(`\\b${requestedId}\\b`, "g"), "ID");
    expect(withoutId(await mallory.view(id), id)).toBe(withoutId(await mallory.view(1), 1));
    expect(withoutId(await mallory.delete(id), id)).toBe(withoutId(await mallory.delete(1), 1));
  });
});
