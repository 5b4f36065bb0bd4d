import { join } from "node:path";
import { startPostgres } from "@moorage/testkit/postgres-server.ts";
import { startPrimaryAndStandby } from "@moorage/testkit/postgres-standby.ts";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createDb, createPool } from "./database.ts";
import { migrate } from "./migrate.ts";

const folder = join(import.meta.dirname, "../../../migrations");
const open = (url: string) => createDb(createPool(url, 2));

async function fingerprintOf(url: string): Promise<{ here: string; known: string }> {
  const db = open(url);
  try {
    const { rows } = await sql<{ here: string; known: string }>`
      select current_fingerprint() as here, fingerprint as known from installation`.execute(db);
    return rows[0] as { here: string; known: string };
  } finally {
    await db.destroy();
  }
}

async function migrated(url: string): Promise<void> {
  const db = open(url);
  await migrate(db, folder, 1);
  await db.destroy();
}

test("the first statement after a promotion sees another fingerprint", async () => {
  const pair = await startPrimaryAndStandby();
  try {
    const url = pair.urlOf("postgres");
    await migrated(url);
    const before = await fingerprintOf(url);
    expect(before.here).toBe(before.known);
    await pair.untilReplicated();

    await pair.promote();

    const after = await fingerprintOf(url);
    expect(after.known).toBe(before.known);
    const timelineOf = ({ here }: { here: string }): number => Number(here.split("/")[1]);
    expect(timelineOf(after)).toBe(timelineOf(before) + 1);
  } finally {
    await pair.stop();
  }
});

test("two connections to one server see the same fingerprint, and another database another", async () => {
  const server = await startPostgres();
  try {
    const url = server.urlOf("postgres");
    await migrated(url);
    const { here } = await fingerprintOf(url);
    expect((await fingerprintOf(url)).here).toBe(here);
    const db = open(url);
    await sql`create database other`.execute(db);
    await db.destroy();
    await migrated(server.urlOf("other"));
    expect((await fingerprintOf(server.urlOf("other"))).here).not.toBe(here);
  } finally {
    await server.stop();
  }
});
