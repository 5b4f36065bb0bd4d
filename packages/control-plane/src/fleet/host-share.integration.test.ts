import { expect, test } from "vitest";
import { startGateway } from "#testing/gateway.ts";
import { newWorld } from "#testing/world.ts";

const SHARE = 128;

test("a host with many requests in flight is refused further ones, and other hosts are answered", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const [greedy, other] = [await gateway.enrolledHost(), await gateway.enrolledHost()];
  const begin = () => {
    const call = gateway.begin(greedy, "/v1/samples", { "content-length": "100" });
    const status = new Promise<number | undefined>((resolve) => {
      call.once("error", () => resolve(undefined));
      call.once("response", (response) => resolve(response.resume().statusCode));
    });
    call.flushHeaders();
    return { call, status };
  };
  const refused = new Set<number>();
  const held = Array.from({ length: SHARE + 3 }, (_, n) => {
    const each = begin();
    void each.status.then((status) => status === 503 && refused.add(n));
    return each;
  });
  await expect.poll(() => refused.size).toBe(3);

  const report = { protocol: 1, complete: true, nodes: [], unknown: [] };
  expect((await gateway.post(other, "/v1/observed", report)).status).toBe(200);
  for (const { call } of held) call.destroy();
  await expect.poll(async () => (await gateway.post(greedy, "/v1/observed", report)).status).toBe(200);
});
