import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { Resolver } from "node:dns/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { removeFolder } from "./folders.ts";
import { freePort } from "./free-port.ts";

const SCHEMA = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql";
const KEY = "test-key";
/** For a server that a busy machine holds up. */
const PATIENCE_MS = 180_000;

/** A real PowerDNS with its own zone and store, which can be stopped and restarted. */
export async function startPowerDns(zone: string) {
  const folder = mkdtempSync(join(tmpdir(), "moorage-dns-"));
  const store = join(folder, "pdns.sqlite3");
  const database = new DatabaseSync(store);
  database.exec(readFileSync(SCHEMA, "utf8"));
  database.close();
  const [dnsPort, apiPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${apiPort}`;
  const headers = { "x-api-key": KEY, "content-type": "application/json" };
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const settings = {
      launch: "gsqlite3",
      "gsqlite3-database": store,
      "socket-dir": folder,
      "config-dir": folder,
      "local-address": `127.0.0.1:${dnsPort}`,
      daemon: "no",
      guardian: "no",
      "security-poll-suffix": "",
      api: "yes",
      "api-key": KEY,
      webserver: "yes",
      "webserver-address": "127.0.0.1",
      "webserver-port": apiPort,
      "webserver-loglevel": "none",
      // Caches off: a change shows at once.
      "cache-ttl": 0,
      "query-cache-ttl": 0,
      "negquery-cache-ttl": 0,
      "zone-cache-refresh-interval": 0,
    };
    const options = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    const started = spawn("pdns_server", options, { stdio: "ignore" });
    server = started;
    const until = Date.now() + PATIENCE_MS;
    while (started.exitCode === null && Date.now() < until) {
      if (
        await fetch(`${url}/api/v1/servers`, { headers }).then(
          ({ ok }) => ok,
          () => false,
        )
      )
        return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("PowerDNS does not answer.");
  };
  const stop = async (): Promise<void> => {
    const running = server;
    if (running === undefined) return;
    server = undefined;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGTERM");
    await ended;
  };

  await start();
  const made = await fetch(`${url}/api/v1/servers/localhost/zones`, {
    method: "POST",
    headers,
    body: JSON.stringify({ name: `${zone}.`, kind: "Native", nameservers: [`ns1.${zone}.`] }),
  });
  if (!made.ok) throw new Error(`The zone was refused: ${await made.text()}`);

  // Each try waits twice as long as the previous one.
  const resolver = new Resolver({ timeout: 2000, tries: 7 });
  resolver.setServers([`127.0.0.1:${dnsPort}`]);
  return {
    settings: { url, key: KEY, zone, patienceMs: PATIENCE_MS },
    start,
    stop,
    /** What a client resolves: every address of a name, or none. */
    async lookUp(name: string): Promise<string[]> {
      const none = (error: Error & { code?: string }): never[] => {
        if (error.code === "ENOTFOUND" || error.code === "ENODATA") return [];
        throw error;
      };
      const found = await Promise.all([resolver.resolve4(name).catch(none), resolver.resolve6(name).catch(none)]);
      return found.flat().sort();
    },
    timeToLive: async (name: string): Promise<number | undefined> =>
      (await resolver.resolve4(name, { ttl: true }))[0]?.ttl,
    async [Symbol.asyncDispose]() {
      await stop();
      removeFolder(folder);
    },
  };
}
export type PowerDns = Awaited<ReturnType<typeof startPowerDns>>;
