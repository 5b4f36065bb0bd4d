/** Runs in a client's namespace: holds one idle connection, and prints when it is open and when it has ended. */
import { openConnection } from "./open-connection.ts";

const connection = await openConnection(process.argv[2] as string);
const end = (): void => {
  console.log(JSON.stringify({ endedAt: Date.now() }));
  process.exit(0);
};
connection.on("error", end);
connection.on("end", end);
await connection.query("select 1");
console.log("open");
