/**
 * Runs in a host's namespace: tries to write to the member of that host, past every gate, ten times a second. Prints of
 * each try when it began and, if it was accepted, when that was and the view that the member was in; or that the member
 * said no. Without either it said nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, createConnection, type RowDataPacket } from "mysql2/promise";

const EVERY_MS = 100;
const PATIENCE_MS = 900;

const { host, port, username, password, run, prober, first, replication } = JSON.parse(process.argv[2] as string) as {
  host: string;
  port: number;
  username: string;
  password: string;
  run: number;
  prober: number;
  first: number;
  replication: string;
};
// Of a server that is in no group there is no view; should it take a write, that must be seen. One that follows another
// has no view of its own: its name tells it from the others.
const OWN_VIEW =
  replication === "asynch"
    ? "@@server_uuid"
    : "(select VIEW_ID from performance_schema.replication_group_member_stats where MEMBER_ID = @@server_uuid)";
const WRITE = `insert into drill.writes (run, writer, n, view_id) values (?, ?, ?, ${OWN_VIEW})`;
const VIEW = "select coalesce(view_id, 'none') as view from drill.writes where run = ? and writer = ? and n = ?";

let connection: Connection | undefined;

async function connected(): Promise<Connection> {
  if (connection !== undefined) return connection;
  connection = await createConnection({
    ...{ host, port, user: username, password, connectTimeout: PATIENCE_MS },
    ssl: { rejectUnauthorized: false },
  });
  connection.on("error", () => {});
  return connection;
}

type Answer = { ended: number } | { refused: true } | Record<string, never>;

async function probe(values: number[]): Promise<Answer> {
  try {
    const open = await connected();
    await open.query({ sql: WRITE, values, timeout: PATIENCE_MS });
    return { ended: Date.now() };
  } catch (error) {
    // A member that takes no writes says so, and the connection is as good as before.
    if ((error as { code?: string }).code === "ER_OPTION_PREVENTS_STATEMENT") return { refused: true };
    drop();
    return {};
  }
}

async function viewOf(values: number[]): Promise<string> {
  try {
    const open = await connected();
    const [rows] = await open.query<RowDataPacket[]>({ sql: VIEW, values, timeout: PATIENCE_MS });
    return String(rows[0]?.["view"] ?? "unknown");
  } catch {
    drop();
    return "unknown";
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
  const view = "ended" in answer ? { view: await viewOf(values) } : {};
  console.log(JSON.stringify({ prober, n, began, ...answer, ...view }));
  await sleep(Math.max(0, began + EVERY_MS - Date.now()));
}
