/**
 * Runs in a client's namespace: keeps a server's processors busy with the given number of sessions. Prints a line for
 * each session that was ended, and opens another, as a tenant's program would.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openConnection } from "./open-connection.ts";

const input = process.argv[2] as string;
const { sessions, until, proxyPort } = JSON.parse(input) as { sessions: number; until: number; proxyPort: number };

async function burn(): Promise<void> {
  const connection = await openConnection(input, { port: proxyPort });
  connection.on("error", () => {});
  while (Date.now() < until) await connection.query("do benchmark(2000000, sha2('the quick brown fox', 512))");
  await connection.end();
}

async function keepBurning(): Promise<void> {
  while (Date.now() < until) {
    try {
      await burn();
    } catch (error) {
      console.log(JSON.stringify({ at: Date.now(), why: String(error) }));
      await sleep(500);
    }
  }
}

await Promise.all(Array.from({ length: sessions }, keepBurning));
