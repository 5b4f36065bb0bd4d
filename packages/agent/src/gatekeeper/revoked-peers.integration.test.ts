import { X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { newPrivateKey, requestFor } from "../base/certificates.ts";
import { hostPaths } from "../base/host-paths.ts";
import { keyHashOf, saveRevokedKeys } from "../gateway/revoked-keys.ts";
import { makeAuthority, signRequest } from "../testing/fake-gateway.ts";
import type { ClusterFile } from "./cluster-file.ts";
import { startGatekeeper } from "./gatekeeper.ts";
import type { HostIdentity } from "./identity.ts";
import { connectPeer, servePeers } from "./peer-views.ts";

// Real mutual TLS on loopback: host-1 at 127.0.0.1 runs the gatekeeper, host-2 at 127.0.0.2 has the key that is revoked.
const links = { port: 19_545, isRevoked: () => false };
const [node, other] = ["5f0c1d1e-0000-4000-8000-000000000001", "5f0c1d1e-0000-4000-8000-000000000002"];
const patient = { timeout: 300_000, interval: 50 };

test("a gatekeeper neither answers nor asks a host whose key was revoked, without a restart", async () => {
  const authority = await makeAuthority();
  const identityOf = async (name: string): Promise<HostIdentity> => {
    const key = await newPrivateKey();
    return { key, cert: await signRequest(authority, name, await requestFor(key)), ca: authority.pem };
  };
  const [own, two] = [await identityOf("host-1"), await identityOf("host-2")];
  const dir = mkdtempSync(join(tmpdir(), "moor-"));
  const host = hostPaths(dir);
  mkdirSync(host.gatekeeper.clusters, { recursive: true });
  const file: ClusterFile = {
    node,
    group: "5f0c1d1e-0000-4000-8000-00000000000f",
    socket: join(dir, "no-server.sock"),
    members: [
      { node, ordinal: 0, host: "host-1", address: "127.0.0.1" },
      { node: other, ordinal: 1, host: "host-2", address: "127.0.0.2" },
    ],
    port: 20_000,
  };
  for (const [path, text] of [
    [host.key, own.key],
    [host.certificate, own.cert],
    [join(dir, "ca.pem"), own.ca],
    [join(host.gatekeeper.clusters, `${node}.json`), JSON.stringify(file)],
  ] as const)
    writeFileSync(path, text);
  let askedAt = 0;
  const peers = servePeers(two, () => void (askedAt = performance.now()), links);
  await peers.listenOn(["127.0.0.2"]);
  const ports = { peers: links.port, check: 19_645 };
  const config = { dir, fleetCa: join(dir, "ca.pem"), ports, logLevel: "silent" };
  const gatekeeper = await startGatekeeper(config, pino({ level: "silent" }));
  const thief = connectPeer(two, { host: "host-1", address: "127.0.0.1" }, links);
  const isAnswered = () =>
    thief.views([node]).then(
      () => true,
      (error: Error) => (error.name.endsWith("TimeoutError") ? undefined : false),
    );
  await expect.poll(isAnswered, patient).toBe(true);
  await expect.poll(() => askedAt, patient).toBeGreaterThan(0);

  await saveRevokedKeys(host, { version: "1", keys: [keyHashOf(new X509Certificate(two.cert))] });

  await expect.poll(isAnswered, patient).toBe(false);
  // It asks four times a second otherwise.
  await expect.poll(() => performance.now() - askedAt, patient).toBeGreaterThan(3000);

  await thief.close();
  peers.close();
  await gatekeeper.close();
  rmSync(dir, { recursive: true, force: true });
});
