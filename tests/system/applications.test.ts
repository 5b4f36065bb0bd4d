/** Applications of common frameworks, as their documentation sets them up, on one node and on three. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applications, runApplication, steps } from "../kit/applications.ts";
import { type Door, doorOf, clientA } from "../kit/client.ts";
import { makeCluster } from "../kit/cluster.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

const alice = tenant();
const a = clientA();

const sizes = {
  "one node": async (): Promise<{ id: number; door: Door }> => {
    const { id } = await alice.createSurely(unique("apps"), 60, { allow_list: [a.address] });
    await alice.untilStatus(id, "active", 180);
    return { id, door: await doorOf(alice, id) };
  },
  "three nodes": () => makeCluster(alice, unique("apps"), { allow_list: [a.address] }),
};

describe.each(Object.entries(sizes))("on %s", (_, make) => {
  let database: { id: number; door: Door };
  beforeAll(async () => {
    await allowDeletions(100);
    database = await make();
  });
  afterAll(() => alice.deleteSurely(database.id));

  test.each(Object.keys(applications))("%s migrates, writes, reads and migrates again", async (name) => {
    expect(await runApplication(a, database.door, name)).toEqual(steps);
  });
});
