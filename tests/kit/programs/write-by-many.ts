/**
 * Runs in a client's namespace: writers that each insert one row after the other, with `pauseMs` in between. Every
 * second writer connects by hostname, the others through one proxy after the other. Prints each acknowledged row, each
 * try that was not acknowledged (its row may exist), and why a connection failed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Door } from "../client.ts";
import { openByAddress } from "./open-by-address.ts";

const PATIENCE_MS = 3000;
const AGAIN_MS = 50;

const input = process.argv[2] as string;
const { port, proxies, run, writers, pauseMs } = JSON.parse(input) as Door & {
  proxies: string[];
  run: number;
  writers: number;
  pauseMs: number;
};

async function write(writer: number): Promise<never> {
  for (let [n, tries] = [1, writer]; ; n++, tries++) {
    const proxy = writer % 2 === 0 ? undefined : proxies[tries % proxies.length];
    const connection = await openByAddress(input, proxy, port).catch((error: unknown) => {
      console.log(`! ${writer} ${n} ${Date.now()} ${String(error)}`);
      return undefined;
    });
    try {
      for (; connection !== undefined; n++) {
        const values = [run, writer, n];
        await connection.query({
          sql: "insert into drill.writes (run, writer, n) values (?, ?, ?)",
          values,
          timeout: PATIENCE_MS,
        });
        console.log(`+ ${writer} ${n} ${Date.now()}`);
        await sleep(pauseMs);
      }
    } catch {
      // A later check finds by its number whether the row exists.
      console.log(`- ${writer} ${n} ${Date.now()}`);
    }
    connection?.destroy();
    await sleep(AGAIN_MS);
  }
}

await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
