/** Runs in a client's namespace: reads through each proxy all the time, and prints which server answered when. */
import { setTimeout as sleep } from "node:timers/promises";
import type { RowDataPacket } from "mysql2/promise";
import { openByAddress } from "./open-by-address.ts";

const EVERY_MS = 100;

const input = process.argv[2] as string;
const { proxies, proxyPort, patienceMs } = JSON.parse(input) as {
  proxies: string[];
  proxyPort: number;
  patienceMs: number;
};

/** For how long this process was able to run: a stalled machine does not count. */
let ranMs = 0;
setInterval(() => (ranMs += EVERY_MS), EVERY_MS);

async function read(proxy: string): Promise<never> {
  for (;;) {
    const connection = await openByAddress(input, proxy, proxyPort).catch(() => undefined);
    try {
      while (connection !== undefined) {
        const askedMs = ranMs;
        const [rows] = await connection.query<RowDataPacket[]>({
          sql: "select @@server_uuid as server, connection_id() as session",
          timeout: patienceMs,
        });
        console.log(JSON.stringify({ proxy, at: Date.now(), askedMs, ...rows[0] }));
        await sleep(EVERY_MS);
      }
    } catch {
      // Visible in the missing answers.
    }
    connection?.destroy();
    await sleep(EVERY_MS);
  }
}

await Promise.all(proxies.map(read));
