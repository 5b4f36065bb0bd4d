/**
 * Runs in a host's namespace: tries to write to the member on that host, bypassing every proxy, ten times a second.
 * Prints when each try began and, if it was accepted, when, the member's view, and which tries of all other probers it
 * had then; or that the member refused. A try without a result got no answer.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, createConnection, type RowDataPacket } from "mysql2/promise";

const EVERY_MS = 100;
const PATIENCE_MS = 900;
/** Longer: a busy machine may need more than a second for each new connection. */
const CONNECT_MS = 3000;

const { host, port, username, password, run, prober, firstProber, first, replication } = JSON.parse(
  process.argv[2] as string,
) as {
  host: string;
  port: number;
  username: string;
  password: string;
  run: number;
  prober: number;
  firstProber: number;
  first: number;
  replication: string;
};
// A server outside of a group has no view; if it accepts a write, that must be visible. A replica of an asynchronous
// cluster has no view of its own: its name distinguishes it.
const OWN_VIEW =
  replication === "asynch"
    ? "@@server_uuid"
    : "(select VIEW_ID from performance_schema.replication_group_member_stats where MEMBER_ID = @@server_uuid)";
// In one statement: what it reads is what exists once it may write.
const WRITE = `insert into drill.writes (run, writer, n, view_id, seen)
  select ?, ?, ?, ${OWN_VIEW}, coalesce(json_objectagg(writer, n), json_object())
  from (select writer, max(n) as n from drill.writes where run = ? and writer >= ? group by writer) as probes`;
const WRITTEN = `select coalesce(view_id, 'none') as view, seen from drill.writes where run = ? and writer = ? and n = ?`;

let connection: Connection | undefined;

async function connected(): Promise<Connection> {
  if (connection !== undefined) return connection;
  connection = await createConnection({
    host,
    port,
    user: username,
    password,
    connectTimeout: CONNECT_MS,
    ssl: { rejectUnauthorized: false },
  });
  connection.on("error", () => {});
  // Otherwise the rows that it reads are locked against writes from another primary.
  await connection.query("set session transaction isolation level read committed");
  return connection;
}

type Answer = { ended: number } | { refused: true } | Record<string, never>;

async function probe(values: number[]): Promise<Answer> {
  try {
    const open = await connected();
    await open.query({ sql: WRITE, values: [...values, run, firstProber], timeout: PATIENCE_MS });
    return { ended: Date.now() };
  } catch (error) {
    // A member that is read-only refuses the write, and the connection stays usable.
    if ((error as { code?: string }).code === "ER_OPTION_PREVENTS_STATEMENT") return { refused: true };
    drop();
    return {};
  }
}

async function written(values: number[]): Promise<{ view: string; seen?: object }> {
  try {
    const open = await connected();
    const [[row]] = await open.query<RowDataPacket[]>({ sql: WRITTEN, values, timeout: PATIENCE_MS });
    if (row === undefined) return { view: "unknown" };
    // An asynchronous successor may lack writes that were acknowledged before it: times decide about those.
    return { view: String(row["view"]), ...(replication === "asynch" ? {} : { seen: row["seen"] as object }) };
  } catch {
    drop();
    return { view: "unknown" };
  }
}

function drop(): void {
  connection?.destroy();
  connection = undefined;
}

for (let n = first; ; n++) {
  const began = Date.now();
  const values = [run, prober, n];
  const answer = await probe(values);
  const row = "ended" in answer ? await written(values) : {};
  console.log(JSON.stringify({ prober, n, began, ...answer, ...row }));
  await sleep(Math.max(0, began + EVERY_MS - Date.now()));
}
