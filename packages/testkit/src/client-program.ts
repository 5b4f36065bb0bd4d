import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type Connection, createConnection } from "mysql2/promise";
import { knock, type Outcome, type Place } from "./knock.ts";
import { serveCalls } from "./namespace-program.ts";

// A client, or the server on a node. Runs inside a namespace of the test.
async function probe(place: Place, withinMs = 1000): Promise<Outcome> {
  const { outcome, socket } = await knock(place, withinMs);
  socket.destroy();
  return outcome;
}

const tries = { outcomes: { open: 0, refused: 0, silent: 0 }, until: 0 };
async function tryOn(places: Place[], everyMs: number): Promise<void> {
  while (tries.until > Date.now()) {
    for (const place of places) void probe(place, 150).then((outcome) => tries.outcomes[outcome]++);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

const sessions: { connection: Connection; endedAt?: number }[] = [];
const sockets: { socket: Socket; received: string; endedAt?: number }[] = [];

const login = (place: Place, password: string): Promise<Connection> =>
  createConnection({
    ...place,
    user: "dbadmin",
    password,
    ssl: { rejectUnauthorized: false },
    connectTimeout: 3000,
    multipleStatements: true,
  });

function write(number: number, text: string): (typeof sockets)[number] {
  const held = sockets[number];
  if (held === undefined) throw new Error("no such connection");
  held.received = "";
  held.socket.write(text);
  return held;
}

export const functions = {
  probe,
  /** Sends a SYN from each source without waiting for the outcome. Returns the sources that could not send. */
  knocks: async (from: { source: string; host: string; port: number }[]): Promise<string[]> => {
    const unsent: string[] = [];
    for (const { source, host, port } of from) {
      const socket = connect({ host, port, localAddress: source });
      socket.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code !== "ECONNREFUSED") unsent.push(`${source} ${error.code}`);
      });
      // The SYN leaves before the next event loop turn; the answer does not matter.
      setImmediate(() => socket.destroy());
    }
    await new Promise((resolve) => setTimeout(resolve, 30));
    return unsent;
  },
  keepTrying: (places: Place[], everyMs: number, forMs: number) => {
    Object.assign(tries.outcomes, { open: 0, refused: 0, silent: 0 });
    tries.until = Date.now() + forMs;
    void tryOn(places, everyMs);
  },
  attempts: () => tries.outcomes.open + tries.outcomes.refused + tries.outcomes.silent,
  tried: async () => {
    tries.until = 0;
    await new Promise((resolve) => setTimeout(resolve, 400));
    return tries.outcomes;
  },
  query: async (place: Place, password: string, sql: string): Promise<unknown> => {
    const connection = await login(place, password);
    try {
      return (await connection.query(sql))[0];
    } finally {
      connection.destroy();
    }
  },
  /** A session that stays open; returns its number here. */
  hold: async (place: Place, password: string): Promise<number> => {
    const held: (typeof sessions)[number] = { connection: await login(place, password) };
    const ended = () => {
      held.endedAt ??= Date.now();
    };
    held.connection.on("error", ended);
    held.connection.on("end", ended);
    return sessions.push(held) - 1;
  },
  endedAt: (session: number) => sessions[session]?.endedAt ?? null,
  querySession: async (session: number, sql: string): Promise<unknown> =>
    (await sessions[session]?.connection.query({ sql, timeout: 1000 }))?.[0],
  /** A plain connection that can send later. */
  dial: async (place: Place): Promise<number> => {
    const { outcome, socket } = await knock(place, 1000);
    if (outcome !== "open") throw new Error(outcome);
    const held: (typeof sockets)[number] = { socket: socket.setEncoding("utf8"), received: "" };
    socket.on("data", (text: string) => {
      held.received += text;
    });
    return sockets.push(held) - 1;
  },
  /** Sends, and returns what came back within a moment: for a connection over which nothing should. */
  send: async (number: number, text: string): Promise<string> => {
    const held = write(number, text);
    await new Promise((resolve) => setTimeout(resolve, 300));
    return held.received;
  },
  /** Sends, and returns what came back, as soon as it contains the text. */
  echo: async (number: number, text: string): Promise<string> => {
    const held = write(number, text);
    const end = Date.now() + 120_000;
    while (!held.received.includes(text) && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 10));
    return held.received;
  },
  /** Sends every caller the address that it sees, and echoes what it receives. */
  listen: async (port: number): Promise<number> => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.write(`${socket.remoteAddress}\n`);
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(port, "::", resolve));
    return (server.address() as AddressInfo).port;
  },
  greeting: async (place: Place): Promise<string> => {
    const { outcome, socket } = await knock(place, 1000);
    if (outcome !== "open") throw new Error(outcome);
    return new Promise((resolve) => {
      socket.once("data", (data) => {
        resolve(data.toString().trim());
        socket.destroy();
      });
    });
  },
};

serveCalls(functions);
