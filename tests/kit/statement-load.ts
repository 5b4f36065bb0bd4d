/** Runs in a client's namespace: inserts and reads back, one statement after the other, and prints how many. */
import { createConnection } from "mysql2/promise";
import type { Load, Reach } from "./sql.ts";

const { address, port, username, password, seconds, least } = JSON.parse(process.argv[2] as string) as Reach & {
  seconds: number;
  least: number;
};
const connection = await createConnection({
  host: address,
  port,
  user: username,
  password,
  ssl: { rejectUnauthorized: false },
  connectTimeout: 60_000,
});
await connection.query("create database if not exists drill");
await connection.query("create table if not exists drill.counter (id bigint primary key auto_increment, at double)");
const result: Load = { statements: 0, failed: 0, seconds };
const begun = performance.now();
const end = begun + seconds * 1000;
while (performance.now() < end || (result.statements < least && result.failed === 0)) {
  for (const statement of ["insert into drill.counter (at) values (1)", "select max(id) from drill.counter"]) {
    try {
      await connection.query(statement);
      result.statements++;
    } catch {
      result.failed++;
    }
  }
}
result.seconds = (performance.now() - begun) / 1000;
await connection.end();
console.log(JSON.stringify(result));
