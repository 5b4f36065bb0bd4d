import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { selfSigned, type Signed } from "@moorage/testkit/certificates.ts";
import { freePort } from "@moorage/testkit/free-port.ts";
import { initData, newServerFolder, NOBODY, serve, urlAt } from "@moorage/testkit/postgres-server.ts";
import { startTemporalServer } from "@moorage/testkit/temporal-server.ts";
import { until } from "@moorage/testkit/until.ts";
import { startValkey } from "@moorage/testkit/valkey-server.ts";
import { NativeConnection } from "@temporalio/worker";
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPool } from "./db/database.ts";
import { createSharedLimits } from "./limits/shared-limits.ts";
import { type PeerTls, readTls, type TlsFiles } from "./peers.ts";
import { connectClient, connectWorker, ensureNamespace } from "./temporal/connection.ts";

const folder = mkdtempSync(join(tmpdir(), "moorage-peers-"));
const localhost = [{ type: "dns", value: "localhost" } as const];

let server: TlsFiles;
/** The identity of a process; one of another authority; and the process's own, that trusts only the other authority. */
let own: TlsFiles;
let foreign: TlsFiles;
let misled: TlsFiles;

beforeAll(async () => {
  const [authority, other] = await Promise.all([
    selfSigned("CN=authority", { authority: true }),
    selfSigned("CN=authority", { authority: true }),
  ]);
  const file = (name: string, pem: string): string => {
    const path = join(folder, name);
    writeFileSync(path, pem, { mode: 0o600 });
    chownSync(path, NOBODY, NOBODY);
    return path;
  };
  chownSync(folder, NOBODY, NOBODY);
  const files = (name: string, { certificate, key }: Signed, trusted: Signed): TlsFiles => ({
    ca: file(`${name}.ca.pem`, trusted.certificate),
    certificate: file(`${name}.pem`, certificate),
    key: file(`${name}.key`, key),
  });
  const process = await selfSigned("CN=postgres", { issuer: authority });
  server = files("server", await selfSigned("CN=server", { issuer: authority, names: localhost }), authority);
  own = files("own", process, authority);
  foreign = files("foreign", await selfSigned("CN=postgres", { issuer: other }), authority);
  misled = files("misled", process, other);
});
afterAll(() => rmSync(folder, { recursive: true }));

test("PostgreSQL accepts the process's certificate alone, and the process only its own authority's server", async () => {
  const { folder: home, remove } = newServerFolder();
  const data = join(home, "data");
  await initData(home, data);
  writeFileSync(join(data, "pg_hba.conf"), "local all all trust\nhostssl all all 127.0.0.1/32 cert\n");
  const port = await freePort();
  const tls = { ssl: "on", ssl_ca_file: server.ca, ssl_cert_file: server.certificate, ssl_key_file: server.key };
  const listen = { listen_addresses: "127.0.0.1", port, unix_socket_directories: home, ...tls };
  const running = await serve({ folder: home, data, listen, url: `${urlAt(home, "postgres")}&port=${port}` });
  const connect = async (parameters: Record<string, string>): Promise<unknown> => {
    const pool = createPool(
      `postgres://postgres@localhost:${port}/postgres?${new URLSearchParams(parameters).toString()}`,
      1,
    );
    try {
      return (await pool.query("select ssl, client_dn from pg_stat_ssl where pid = pg_backend_pid()")).rows[0];
    } finally {
      await pool.end();
    }
  };
  const as = ({ ca, certificate, key }: TlsFiles) =>
    connect({ sslmode: "verify-full", sslrootcert: ca, sslcert: certificate, sslkey: key });
  try {
    expect(await as(own)).toEqual({ ssl: true, client_dn: "/CN=postgres" });
    await expect(connect({})).rejects.toThrow("no pg_hba.conf entry");
    await expect(connect({ sslmode: "verify-full", sslrootcert: own.ca })).rejects.toThrow("client certificate");
    await expect(as(foreign)).rejects.toThrow("alert");
    await expect(as(misled)).rejects.toThrow("certificate");
  } finally {
    await running.kill();
    remove();
  }
});

test("Valkey accepts the process's certificate alone, and the process only its own authority's server", async () => {
  await using valkey = await startValkey(server);
  /** An answer, or an error of the connection with this reason: on a busy machine attempts also end for others. */
  const end = async (tls: Partial<PeerTls>, reason?: string, url = valkey.url): Promise<string> => {
    const errors: string[] = [];
    const log = pino({ level: "debug" }, { write: (line: string) => void errors.push(line) });
    const limits = createSharedLimits(url, log, { patienceMs: 60_000, tls: tls as PeerTls });
    try {
      return await until("Valkey answers or refuses", 60, async () => {
        const taken = await limits.take(["a"], [{ requests: 1000, perSeconds: 1 }]).catch(() => undefined);
        return taken?.allowed === true
          ? "answered"
          : errors.find((line) => reason !== undefined && line.includes(reason));
      });
    } finally {
      limits.close();
    }
  };
  expect(await end(readTls(own))).toBe("answered");
  expect(await end({}, "unreachable", valkey.url.replace("rediss:", "redis:"))).toContain("unreachable");
  expect(await end({ ca: readTls(own).ca }, "certificate required")).toContain("certificate required");
  expect(await end(readTls(foreign), "unreachable")).toContain("unreachable");
  expect(await end(readTls(misled), "certificate")).toContain("certificate");
});

test("Temporal accepts the process's certificate alone, and the process only its own authority's server", async () => {
  await using temporal = await startTemporalServer(server);
  const at = { address: temporal.address.replace("127.0.0.1", "localhost"), namespace: "moorage" };
  const connection = await connectWorker({ ...at, tls: own }, () => true);
  await connection.close();
  const client = await connectClient({ ...at, tls: own });
  await until("the namespace is registered", 60, () => ensureNamespace(client, at.namespace).then(() => true));
  await client.connection.close();

  const once = () => false;
  await expect(connectWorker(at, once)).rejects.toThrow(/transport|TransportError|connect/i);
  await expect(connectWorker({ ...at, tls: foreign }, once)).rejects.toThrow(/transport|TransportError|connect/i);
  await expect(connectWorker({ ...at, tls: misled }, once)).rejects.toThrow(/transport|TransportError|connect/i);
  const anonymous = { address: at.address, tls: { serverRootCACertificate: readTls(own).ca } };
  await expect(NativeConnection.connect(anonymous)).rejects.toThrow(/transport|TransportError|connect/i);
});
