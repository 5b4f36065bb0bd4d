/** Runs in a client's namespace: reads through each gate all the time, and prints which server answered when. */
import { setTimeout as sleep } from "node:timers/promises";
import type { RowDataPacket } from "mysql2/promise";
import { openByAddress } from "./open-by-address.ts";

const EVERY_MS = 100;
const PATIENCE_MS = 5000;

const input = process.argv[2] as string;
const { gates, gatePort } = JSON.parse(input) as { gates: string[]; gatePort: number };

async function read(gate: string): Promise<never> {
  for (;;) {
    const connection = await openByAddress(input, gate, gatePort).catch(() => undefined);
    try {
      while (connection !== undefined) {
        const [rows] = await connection.query<RowDataPacket[]>({
          ...{ sql: "select @@server_uuid as server, connection_id() as session", timeout: PATIENCE_MS },
        });
        console.log(JSON.stringify({ gate, at: Date.now(), ...rows[0] }));
        await sleep(EVERY_MS);
      }
    } catch {
      // Seen by the answers that are missing.
    }
    connection?.destroy();
    await sleep(EVERY_MS);
  }
}

await Promise.all(gates.map(read));
