/** Runs in a client's namespace: keeps a server's processors busy for so long, by as many sessions as it is told. */
import { openConnection } from "./open-connection.ts";

const input = process.argv[2] as string;
const { sessions, until, gatePort } = JSON.parse(input) as { sessions: number; until: number; gatePort: number };

async function burn(): Promise<void> {
  const connection = await openConnection(input, { port: gatePort });
  connection.on("error", () => {});
  while (Date.now() < until) await connection.query("do benchmark(2000000, sha2('the quick brown fox', 512))");
  await connection.end();
}

await Promise.all(Array.from({ length: sessions }, burn));
