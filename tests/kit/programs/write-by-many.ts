/**
 * Runs in a client's namespace: writers that each insert one row after the other, as fast as `pauseMs` lets them. Every
 * second one connects by name, the others by one gate after the other. Prints each row that was acknowledged, each
 * try that was not (whether its row is there nobody knows), and why it could not connect.
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
          ...{ sql: "insert into drill.writes (run, writer, n) values (?, ?, ?)", values, timeout: PATIENCE_MS },
        });
        console.log(`+ ${writer} ${n} ${Date.now()}`);
        await sleep(pauseMs);
      }
    } catch {
      // By its number a later look finds whether it is there.
      console.log(`- ${writer} ${n} ${Date.now()}`);
    }
    connection?.destroy();
    await sleep(AGAIN_MS);
  }
}

await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
