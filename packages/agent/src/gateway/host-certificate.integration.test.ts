import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { newPrivateKey } from "../base/certificates.ts";
import { hostPaths, makeHostFolders } from "../base/host-paths.ts";
import { openHostRecord } from "../specs/host-record.ts";
import { startFakeGateway } from "../testing/fake-gateway.ts";
import { connectGateway, type Identity } from "./gateway.ts";
import { enrol, keepRenewing } from "./host-certificate.ts";

// Real mutual TLS on loopback.
const address = "127.0.0.1";
const port = 19_561;
const token = "a new token";
const log = pino({ level: "silent" });

/** The folder of an agent without key and certificate, with what it knows of its nodes. */
async function agentFolder(record: object) {
  const dir = mkdtempSync(join(tmpdir(), "moor-"));
  const gateway = await startFakeGateway(address, port, token);
  onTestFinished(async () => {
    await gateway.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const paths = hostPaths(dir);
  await makeHostFolders(paths);
  const [fleetCa, enrolTokenFile] = [join(dir, "ca.pem"), join(dir, "token")];
  writeFileSync(fleetCa, gateway.ca);
  writeFileSync(enrolTokenFile, `${token}\n`);
  writeFileSync(paths.record, JSON.stringify(record));
  const config = { fleetUrl: gateway.url, fleetCa, enrolTokenFile };
  const { signal } = new AbortController();
  return {
    paths,
    gateway,
    deps: async () => ({ config, paths, record: await openHostRecord(paths.record), log, signal }),
  };
}

test("an agent whose key and certificate were removed enrols a new key, and keeps all it knows of its nodes", async () => {
  const known = {
    host: 7,
    epoch: 3,
    revision: 42,
    told: { epoch: 3, revision: 42, position: { server: "7", timeline: 1, lsn: 4096 }, seal: "k1.code" },
    start: 9,
    deletions: [],
  };
  const { paths, deps } = await agentFolder(known);
  const spec = join(paths.specs, "node.json");
  writeFileSync(spec, "as before");

  const { key, cert } = await enrol(await deps());

  expect(new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect([readFileSync(paths.key, "utf8"), readFileSync(paths.certificate, "utf8")]).toEqual([key, cert]);
  expect(JSON.parse(readFileSync(paths.record, "utf8"))).toEqual(known);
  expect(readFileSync(spec, "utf8")).toBe("as before");
});

test("an agent with a key and a certificate uses them, and its token stays unused", async () => {
  const { paths, gateway, deps } = await agentFolder({});
  const own = { key: await newPrivateKey(), cert: "a certificate" };
  writeFileSync(paths.key, own.key);
  writeFileSync(paths.certificate, own.cert);

  expect(await enrol(await deps())).toEqual(own);
  expect(gateway.requestedPaths).toEqual([]);
});

test("a certificate is renewed for the key that the host enrolled, and is on the disk before it is used", async () => {
  const { paths, gateway, deps } = await agentFolder({});
  const identity = await enrol(await deps());
  const connection = connectGateway(gateway.url, gateway.ca, identity);
  const used = Promise.withResolvers<Identity>();
  const stop = new AbortController();
  const use = async (next: Identity): Promise<void> => {
    expect(readFileSync(paths.certificate, "utf8")).toBe(next.cert);
    used.resolve(next);
  };

  // A certificate of this gateway is due as soon as it is issued.
  const renewing = keepRenewing(
    { identity, gateway: connection, use, paths, clock: () => new Date(), log },
    stop.signal,
  );
  const renewed = await used.promise;
  stop.abort();
  await renewing;
  await connection.close();

  expect(renewed.cert).not.toBe(identity.cert);
  expect(new X509Certificate(renewed.cert).checkPrivateKey(createPrivateKey(identity.key))).toBe(true);
  expect(readFileSync(paths.key, "utf8")).toBe(identity.key);
});
