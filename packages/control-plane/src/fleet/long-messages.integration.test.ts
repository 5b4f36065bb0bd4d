import { once } from "node:events";
import type { ClientRequest } from "node:http";
import { expect, test } from "vitest";
import { type Gateway, type Identity, startGateway } from "#testing/gateway.ts";
import { nextSequence } from "#testing/next-sequence.ts";
import { newWorld } from "#testing/world.ts";

const MB = 1024 * 1024;
const report = { protocol: 1, complete: true, nodes: [], unknown: [] };

type Long = { call: ClientRequest; status: Promise<number | undefined> };

/** Reports of which only the head is sent. Those that are left are hung up before the gateway closes. */
function longReports(gateway: Gateway) {
  const calls: ClientRequest[] = [];
  return {
    begin(as: Identity, bytes: number): Long {
      const call = gateway.begin(as, "/v1/observed", { "content-length": `${bytes}` });
      calls.push(call);
      const status = new Promise<number | undefined>((resolve) => {
        call.once("error", () => resolve(undefined));
        call.once("response", (response) => {
          response.resume();
          resolve(response.statusCode);
        });
      });
      call.flushHeaders();
      return { call, status };
    },
    [Symbol.dispose]: () => {
      for (const call of calls) call.destroy();
    },
  };
}
const finish = ({ call }: Long, bytes: number): void =>
  void call.end(JSON.stringify({ ...report, sequence: nextSequence() }).padEnd(bytes));

test("nothing is read of a long report whose sender may not call: a revoked host, a dead host", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  using reports = longReports(gateway);
  const [revoked, dead] = [await gateway.enrolledHost(), await gateway.enrolledHost()];
  await world.operator.post(`/admin/hosts/${revoked.name}/revoke`, {});
  await world.operator.post(`/admin/hosts/${dead.name}/dead`, {});

  for (const host of [revoked, dead]) {
    const { call, status } = reports.begin(host, 128 * MB);
    expect(await status).toBe(401);
    // The connection ends, so the rest is not received either.
    await once(call, "close");
  }
});

test("of a host two long reports are read at once; further ones are refused until one has ended", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  using reports = longReports(gateway);
  const host = await gateway.enrolledHost();
  const bytes = 2 * MB;
  const all = Array.from({ length: 4 }, () => reports.begin(host, bytes));
  const refused = new Set<Long>();
  for (const each of all) void each.status.then((status) => status === 503 && refused.add(each));

  await expect.poll(() => refused.size).toBe(2);
  expect((await gateway.post(host, "/v1/observed", report)).status).toBe(200);

  const [first, second] = all.filter((each) => !refused.has(each)) as [Long, Long];
  second.call.destroy();
  // It makes room when it is hung up, and so does each one that is answered, while the first is still read.
  for (let n = 0; n < 2; n++)
    await expect
      .poll(async () => {
        const next = reports.begin(host, bytes);
        finish(next, bytes);
        return next.status;
      })
      .toBe(200);
  finish(first, bytes);
  expect(await first.status).toBe(200);
});

test("of all hosts eight long reports are read at once, and short reports are not concerned", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  using reports = longReports(gateway);
  const hosts: Identity[] = [];
  for (let n = 0; n < 5; n++) hosts.push(await gateway.enrolledHost());
  let refused = 0;
  for (const host of [...hosts, ...hosts])
    void reports.begin(host, 2 * MB).status.then((status) => (refused += Number(status === 503)));

  await expect.poll(() => refused).toBe(2);
  for (const host of hosts) expect((await gateway.post(host, "/v1/observed", report)).status).toBe(200);
});
