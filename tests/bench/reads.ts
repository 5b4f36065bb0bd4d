import autocannon from "autocannon";
import { query } from "../kit/records.ts";
import { stackEnv } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { processSeconds } from "./cpu.ts";
import { type BenchServer, type Mode, startServer } from "./start-server.ts";

const ROUNDS = 8;
const REQUESTS = 4_000;
const MODES: readonly Mode[] = ["bare", "open", "whole"];

/** CPU cost of viewing one database, alternating with the bare statement; the lowest CPU time per request counts. */
export async function benchReads(): Promise<boolean> {
  const alice = tenant();
  const { id } = await alice.createSurely(`read-${Date.now()}`);
  await alice.untilStatus(id, "active");
  const [row] = await query<{ account_id: number }>("select account_id from databases where id = $1", [id]);
  const servers = new Map<Mode, BenchServer>();
  for (const mode of MODES) servers.set(mode, await startServer(mode, {}, row?.account_id ?? 0));
  const spent = new Map<Mode, number[]>(MODES.map((mode) => [mode, []]));
  try {
    for (let round = -1; round < ROUNDS; round++) {
      for (const [mode, server] of servers) {
        const micros = await cpuPerRequest(server, id);
        // The first round warms the code and the caches.
        if (round >= 0) spent.get(mode)?.push(micros);
      }
    }
  } finally {
    for (const { process } of servers.values()) process.kill("SIGTERM");
    await alice.deleteSurely(id);
    await alice.untilEvent(id, "database_delete");
  }
  const least = (mode: Mode): number => Math.min(...(spent.get(mode) ?? []));
  for (const [mode, rounds] of spent)
    console.log(
      `view of a database, ${mode.padEnd(5)} ${rounds.map(Math.round).join(" ")} CPU-us, least ${Math.round(least(mode))}`,
    );
  const whole = least("whole") / least("bare");
  const token = (least("whole") - least("open")) / least("bare");
  console.log(
    `whole to bare ${whole.toFixed(2)} (goal: at most 1.6); the token's share ${token.toFixed(2)} (goal: at most 0.25)`,
  );
  return whole <= 1.6 && token <= 0.25;
}

async function cpuPerRequest(server: BenchServer, id: number): Promise<number> {
  const before = processSeconds(server.process.pid);
  const result = await autocannon({
    url: `${server.url}/v4/databases/mysql/instances/${id}`,
    connections: 16,
    amount: REQUESTS,
    headers: { authorization: `Bearer ${stackEnv()["MOORAGE_TOKEN"]}` },
  });
  if (result["2xx"] !== REQUESTS) throw new Error(`${REQUESTS - result["2xx"]} of ${REQUESTS} answers were not 2xx`);
  return ((processSeconds(server.process.pid) - before) / REQUESTS) * 1e6;
}
