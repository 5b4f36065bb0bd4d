import { type Client, ServiceError } from "@temporalio/client";
import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { newWorld, type World } from "#testing/world.ts";
import { addSignal, settleOperation } from "./operation-store.ts";
import { relayOnce } from "./relay.ts";

type Fate = (workflowId: string) => void | Promise<void>;

/** As Temporal's client throws it. */
const refusal = (code: number): ServiceError =>
  new ServiceError("Failed to signal Workflow", {
    cause: Object.assign(new Error(`code ${code}`), { code, details: "", metadata: {} }),
  });
const [INVALID_ARGUMENT, UNAVAILABLE] = [3, 14];

/** A Temporal that accepts everything, unless `start` or `signal` throws, and what it has accepted. */
function fakeTemporal({ start = () => {}, signal = () => {} }: { start?: Fate; signal?: Fate } = {}) {
  const accepted: string[] = [];
  const accept = async (what: string, fate: Fate, workflowId: string): Promise<void> => {
    await fate(workflowId);
    accepted.push(`${what} ${workflowId}`);
  };
  const workflow = {
    start: (_kind: string, { workflowId }: { workflowId: string }) => accept("start", start, workflowId),
    getHandle: (workflowId: string) => ({ signal: () => accept("signal", signal, workflowId) }),
  };
  return { client: { workflow } as unknown as Client, accepted };
}

async function relayingWorld(operations: number) {
  const world = await newWorld();
  const alice = await world.customer();
  for (let n = 0; n < operations; n++) await alice.create();
  const rows = await world.db.selectFrom("operations").select("id").orderBy("id").execute();
  const warnings: object[] = [];
  const log = Object.assign(createLog("test", "silent"), { warn: (fields: object) => warnings.push(fields) });
  return {
    world,
    ids: rows.map(({ id }) => id),
    warnings,
    relay: (temporal: Client) => relayOnce({ ...world, temporal, log }),
    started: async () =>
      (
        await world.db.selectFrom("operations").select("id").where("started_at", "is not", null).orderBy("id").execute()
      ).map(({ id }) => id),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}
const add = ({ db }: World, id: number) => db.transaction().execute((tx) => addSignal(tx, id));
const waiting = async ({ db }: World) =>
  (await db.selectFrom("signals").select("operation_id").orderBy("operation_id").execute()).map(
    ({ operation_id }) => operation_id,
  );

test("one start that fails keeps no other operation from being marked as started", async () => {
  await using relaying = await relayingWorld(3);
  const [, second] = relaying.ids;
  const { client } = fakeTemporal({
    start: (id) => {
      if (id === `op-${second}`) throw refusal(UNAVAILABLE);
    },
  });

  await expect(relaying.relay(client)).rejects.toMatchObject({ cause: { code: UNAVAILABLE } });
  expect(await relaying.started()).toEqual(relaying.ids.filter((id) => id !== second));

  const healed = fakeTemporal();
  await relaying.relay(healed.client);
  expect(healed.accepted).toEqual([`start op-${second}`]);
});

test("one signal that fails stays, and the delivered ones are deleted and not sent again", async () => {
  await using relaying = await relayingWorld(3);
  const { world, ids } = relaying;
  const [, second = 0] = ids;
  await relaying.relay(fakeTemporal().client);
  for (const id of ids) await add(world, id);
  const failing = fakeTemporal({
    signal: (id) => {
      if (id === `op-${second}`) throw refusal(UNAVAILABLE);
    },
  });

  for (let round = 0; round < 3; round++)
    await expect(relaying.relay(failing.client)).rejects.toMatchObject({ cause: { code: UNAVAILABLE } });

  expect(failing.accepted.toSorted()).toEqual(ids.filter((id) => id !== second).map((id) => `signal op-${id}`));
  expect(await waiting(world)).toEqual([second]);
});

test("a signal that Temporal refuses for good is deleted, with a warning", async () => {
  await using relaying = await relayingWorld(2);
  const { world, ids, warnings } = relaying;
  const [first] = ids;
  await relaying.relay(fakeTemporal().client);
  for (const id of ids) await add(world, id);
  const { client, accepted } = fakeTemporal({
    signal: (id) => {
      if (id === `op-${first}`) throw refusal(INVALID_ARGUMENT);
    },
  });

  await relaying.relay(client);

  expect(await waiting(world)).toEqual([]);
  expect(accepted).toEqual(ids.filter((id) => id !== first).map((id) => `signal op-${id}`));
  expect(warnings).toMatchObject([{ workflow: `op-${first}` }]);
});

test("an operation has one signal, however often it is added before it is sent", async () => {
  await using relaying = await relayingWorld(1);
  const { world } = relaying;
  const [id = 0] = relaying.ids;
  await relaying.relay(fakeTemporal().client);

  expect(await Promise.all([add(world, id), add(world, id), add(world, id)])).toEqual([true, true, true]);

  expect(await waiting(world)).toEqual([id]);
  const { client, accepted } = fakeTemporal();
  await relaying.relay(client);
  expect(accepted).toEqual([`signal op-${id}`]);
});

test("a signal that is added while the relay sends an earlier one is sent too", async () => {
  await using relaying = await relayingWorld(1);
  const { world } = relaying;
  const [id = 0] = relaying.ids;
  await relaying.relay(fakeTemporal().client);
  await add(world, id);

  const late = fakeTemporal({ signal: async () => void (await add(world, id)) });
  await relaying.relay(late.client);
  expect(await waiting(world)).toEqual([id]);

  const { client, accepted } = fakeTemporal();
  await relaying.relay(client);
  expect(accepted).toEqual([`signal op-${id}`]);
  expect(await waiting(world)).toEqual([]);
});

test("a signal that is being added while the relay deletes an earlier one stays, and the relay does not wait", async () => {
  await using relaying = await relayingWorld(1);
  const { world } = relaying;
  const [id = 0] = relaying.ids;
  await relaying.relay(fakeTemporal().client);
  await add(world, id);

  await world.db.transaction().execute(async (tx) => {
    await addSignal(tx, id);
    await relaying.relay(fakeTemporal().client);
  });

  expect(await waiting(world)).toEqual([id]);
});

test("the signal of an operation that has ended is deleted without being sent", async () => {
  await using relaying = await relayingWorld(1);
  const { world } = relaying;
  const [id = 0] = relaying.ids;
  await add(world, id);
  await world.db.transaction().execute((tx) => settleOperation(tx, id, { outcome: "done", at: world.time.now }));

  const { client, accepted } = fakeTemporal();
  await relaying.relay(client);

  expect(accepted).toEqual([]);
  expect(await waiting(world)).toEqual([]);
});
