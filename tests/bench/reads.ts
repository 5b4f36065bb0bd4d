import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import autocannon from "autocannon";
import { keyFile } from "../../tools/stack/keys.ts";
import { node, repo } from "../../tools/stack/places.ts";
import { query } from "../kit/records.ts";
import { stackEnv } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { processSeconds } from "./cpu.ts";

const ROUNDS = 8;
const REQUESTS = 4_000;
const MODES = ["bare", "open", "whole"] as const;
type Mode = (typeof MODES)[number];

/** What a view of one database costs the server, beside the bare statement, in turns; least CPU per request counts. */
export async function benchReads(): Promise<boolean> {
  const alice = tenant();
  const { id } = await alice.createSurely(`read-${Date.now()}`);
  await alice.untilStatus(id, "active");
  const [row] = await query<{ account_id: number }>("select account_id from databases where id = $1", [id]);
  const servers = new Map<Mode, { process: ChildProcess; url: string }>();
  for (const mode of MODES) servers.set(mode, await start(mode, row?.account_id ?? 0));
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

async function start(mode: Mode, accountId: number): Promise<{ process: ChildProcess; url: string }> {
  const server = spawn(node, [join(repo, "tests/bench/read-server.ts"), mode, String(accountId)], {
    env: {
      ...process.env,
      ...stackEnv(),
      MOORAGE_KEYS_FILE: keyFile.sealing,
      MOORAGE_RATE_LIMITS: "off",
      NODE_ENV: "production",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const port = await new Promise<string>((resolve, reject) => {
    server.stdout?.once("data", (data: Buffer) => resolve(data.toString().trim()));
    server.once("exit", () => void text(server.stderr as NodeJS.ReadableStream).then((why) => reject(new Error(why))));
  });
  return { process: server, url: `http://127.0.0.1:${port}` };
}

async function cpuPerRequest(server: { process: ChildProcess; url: string }, id: number): Promise<number> {
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
