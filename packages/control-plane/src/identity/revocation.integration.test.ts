import { createServer, connect as connectTo, type Socket } from "node:net";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { notify } from "#platform/db/notifications.ts";
import { untilDead, startProcess } from "#testing/listening-process.ts";
import { newWorld, type World } from "#testing/world.ts";

async function revoke(world: World): Promise<void> {
  await world.db.updateTable("tokens").set({ revoked_at: new Date() }).execute();
  await notify(world.db, "identity");
}

test("every process learns of a revoked token", async () => {
  await using world = await newWorld();
  const { token } = await world.customer();
  await using first = await startProcess(world);
  await using second = await startProcess(world);
  const processes = [first, second];
  for (const { accepts } of processes) expect(await accepts(token)).toBe(true);
  await revoke(world);
  await Promise.all(processes.map(({ accepts }) => untilDead(accepts, token)));
});

test("also when the listening connection was closed before", async () => {
  await using world = await newWorld();
  const { token } = await world.customer();
  await using api = await startProcess(world);
  const { accepts } = api;
  expect(await accepts(token)).toBe(true);
  // It may be about to connect, or to prove that it is connected.
  const end = async (): Promise<number> => {
    const { rows } = await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query = 'select 1'`.execute(world.db);
    return rows.length;
  };
  await expect.poll(end).toBeGreaterThan(0);
  await revoke(world);
  await untilDead(accepts, token);
});

test("also when the listening connection was cut silently", async () => {
  await using world = await newWorld();
  const { token } = await world.customer();
  await using link = await startLink(world.databaseUrl);
  await using api = await startProcess(world, link.url);
  const { accepts } = api;
  expect(await accepts(token)).toBe(true);
  link.cut();
  await revoke(world);
  await untilDead(accepts, token);
});

/** A network link that can go silent: it accepts everything and forwards nothing. */
async function startLink(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let silent = false;
  const server = createServer((near) => {
    const far = connectTo(Number(target.port), target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (data) => silent || to.write(data));
      from.on("error", () => to.destroy());
      from.on("close", () => silent || to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    cut: () => {
      silent = true;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
