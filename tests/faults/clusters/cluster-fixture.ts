import { runStatement, clientA } from "../../kit/client.ts";
import { type Cluster, THREE_NODES, untilHealthy } from "../../kit/cluster.ts";
import type { Fixture } from "../flow.ts";

export const NOTES = "create database shop; create table shop.notes (id int auto_increment primary key, note text)";
export const insert = (note: string): string => `insert into shop.notes (note) values ('${note}')`;
export const ALL_NOTES = "select group_concat(note order by id) from shop.notes";

export async function aCluster(fixture: Fixture, more: object = {}): Promise<Cluster> {
  const { alice, label, databases } = fixture;
  const { id } = await alice.createSurely(label, 60, { ...THREE_NODES, ...more });
  databases.push(id);
  await alice.untilStatus(id, "active", 180);
  return untilHealthy(alice, id, 120);
}

/** Contains a row that must still be on every member afterwards. */
export async function withARow(fixture: Fixture, more: object = {}): Promise<void> {
  const { door } = await aCluster(fixture, more);
  await runStatement(clientA(), door, `${NOTES}; ${insert("first")}`);
}

export async function stillHealthy({ alice, databases }: Fixture, rows = "first"): Promise<Cluster> {
  const cluster = await untilHealthy(alice, databases[0] as number, 240);
  const found = await runStatement(clientA(), cluster.door, ALL_NOTES);
  if (found !== rows) throw new Error(`rows are ${found}, not ${rows}`);
  return cluster;
}
