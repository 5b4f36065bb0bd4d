/**
 * Runs in a client's namespace: a new connection each second, by a hostname that is resolved each time. Continues until
 * enough were made, unless one failed.
 */
import { openConnection } from "./open-connection.ts";

const input = process.argv[2] as string;
const { seconds, least } = JSON.parse(input) as { seconds: number; least: number };
const failed: string[] = [];
let made = 0;
const end = Date.now() + seconds * 1000;
while (Date.now() < end || (made < least && failed.length === 0)) {
  const next = Date.now() + 1000;
  try {
    const connection = await openConnection(input);
    await connection.query("select 1");
    await connection.end();
    made++;
  } catch (error) {
    failed.push(String(error));
  }
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - Date.now())));
}
console.log(JSON.stringify({ made, failed }));
