import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MemberView } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newPrivateKey, requestFor } from "../base/certificates.ts";
import { hostPaths } from "../base/host-paths.ts";
import { keyHashOf } from "../gateway/revoked-keys.ts";
import { type Authority, makeAuthority, signRequest } from "../testing/fake-gateway.ts";
import { followIdentity, type HostIdentity, readIdentity } from "./identity.ts";
import { connectPeer, isRefusal, servePeers } from "./peer-views.ts";

// Real mutual TLS on loopback.
const port = 19_543;
const address = "127.0.0.1";
const revoked = new Set<string>();
const links = { port, isRevoked: (key: string): boolean => revoked.has(key) };
const view: MemberView = {
  node: "5f0c1d1e-0000-4000-8000-000000000001",
  ageMs: 5,
  state: "online",
  online: [],
  writable: false,
};
let [authority, other]: Authority[] = [];
let identities: Record<"one" | "two" | "three" | "stranger", HostIdentity>;
let server: ReturnType<typeof servePeers>;

async function identityOf(name: string, by = authority): Promise<HostIdentity> {
  if (by === undefined || authority === undefined) throw new Error("no authority");
  const key = await newPrivateKey();
  return { key, cert: await signRequest(by, name, await requestFor(key)), ca: authority.pem };
}
/** The outcome that is not the peer's time limit: a busy machine may exceed that at any time. */
async function decided<T>(query: () => Promise<T>): Promise<T> {
  const end = Date.now() + 300_000;
  for (;;) {
    try {
      return await query();
    } catch (error) {
      if (!(error as Error).name.endsWith("TimeoutError") || Date.now() > end) throw error;
    }
  }
}
async function queryViews(as: HostIdentity, host = "host-1"): Promise<MemberView[]> {
  const peer = connectPeer(as, { host, address }, links);
  try {
    return (await decided(() => peer.views([view.node]))).views;
  } finally {
    await peer.close();
  }
}

beforeAll(async () => {
  [authority, other] = [await makeAuthority(), await makeAuthority()];
  identities = {
    one: await identityOf("host-1"),
    two: await identityOf("host-2"),
    three: await identityOf("host-3"),
    stranger: await identityOf("host-2", other),
  };
  server = servePeers(
    identities.one,
    (node, host) => (node === view.node && host === "host-2" ? view : undefined),
    links,
  );
  await server.listenOn([address]);
});
afterAll(() => server?.close());

test("a host of the cluster gets its views, another host of the fleet none, and a stranger is refused", async () => {
  expect(await queryViews(identities.two)).toEqual([view]);
  expect(await queryViews(identities.three)).toEqual([]);
  await expect(queryViews(identities.stranger)).rejects.toThrow(/closed|ECONNRESET|alert/);
});

const keyOf = ({ cert }: HostIdentity): string => keyHashOf(new X509Certificate(cert));

test("a host whose key was revoked gets no more views, also on an open connection", async () => {
  const peer = connectPeer(identities.two, { host: "host-1", address }, links);
  expect((await decided(() => peer.views([view.node]))).views).toEqual([view]);
  revoked.add(keyOf(identities.two));
  await expect(decided(() => peer.views([view.node]))).rejects.toThrow(/closed|ECONNRESET/);
  await expect(queryViews(identities.two)).rejects.toThrow(/closed|ECONNRESET/);
  revoked.clear();
  expect(await queryViews(identities.two)).toEqual([view]);
  await peer.close();
});

test("a host whose key was revoked is not believed", async () => {
  revoked.add(keyOf(identities.one));
  await expect(queryViews(identities.two)).rejects.toThrow("The key of host-1 was revoked.");
  revoked.clear();
});

test("an answer from another host than the expected one is rejected", async () => {
  await expect(queryViews(identities.two, "host-3")).rejects.toThrow("is host-1, not host-3");
});

test("a stopped gatekeeper is distinguished from an isolated one by its refusal", async () => {
  const peer = connectPeer(identities.two, { host: "host-1", address }, { ...links, port: port + 1 });
  expect(isRefusal(await decided(() => peer.views([view.node])).catch((error: unknown) => error))).toBe(true);
  await peer.close();
  const cutOff = connectPeer(identities.two, { host: "host-1", address: "198.18.99.99" }, links);
  expect(isRefusal(await cutOff.views([view.node]).catch((error: unknown) => error))).toBe(false);
  await cutOff.close();
});

test("a gatekeeper listens on the addresses of its clusters and on no others", async () => {
  const peer = connectPeer(identities.two, { host: "host-1", address: "127.0.0.2" }, links);
  const isRefused = () =>
    decided(() => peer.views([view.node])).then(
      () => false,
      (error: unknown) => isRefusal(error) || Promise.reject(error as Error),
    );
  expect(await isRefused()).toBe(true);
  await server.listenOn([address, "127.0.0.2"]);
  expect(await isRefused()).toBe(false);
  await server.listenOn([address]);
  expect([await isRefused(), await queryViews(identities.two)]).toEqual([true, [view]]);
  await peer.close();
});

test("an address that the host does not have yet is tried again, and does not end the others", async () => {
  await expect(server.listenOn([address, "198.18.99.99"])).rejects.toThrow("EADDRNOTAVAIL");
  await server.listenOn([address]);
  expect(await queryViews(identities.two)).toEqual([view]);
});

test.each([
  [64 * 1024, 200],
  [64 * 1024 + 1, 413],
])("a question of %i bytes is answered %i", async (bytes, status) => {
  const asked = request({
    host: address,
    port,
    method: "POST",
    ...identities.two,
    checkServerIdentity: () => undefined,
  });
  const answered = new Promise((resolve, reject) => {
    asked.once("response", ({ statusCode }) => resolve(statusCode)).once("error", reject);
  });
  asked.end(JSON.stringify({ nodes: [] }).padEnd(bytes));
  expect(await answered).toBe(status);
  asked.destroy();
});

test("a renewed certificate is used without a restart", async () => {
  const dir = mkdtempSync(join(tmpdir(), "moor-"));
  const [paths, ca] = [hostPaths(dir), join(dir, "ca.pem")];
  const write = ({ key, cert, ca: trusted }: HostIdentity): void => {
    for (const [file, text] of [
      [paths.key, key],
      [paths.certificate, cert],
      [ca, trusted],
    ] as const)
      writeFileSync(file, text);
  };
  write(identities.one);
  const stop = new AbortController();
  const used = Promise.withResolvers<HostIdentity>();
  const renewed = await identityOf("host-1");
  const following = followIdentity(() => readIdentity(paths, ca), identities.one, used.resolve, stop.signal);
  write(renewed);
  expect(await used.promise).toEqual(renewed);
  server.use(renewed);
  expect(await queryViews(identities.two)).toEqual([view]);
  stop.abort();
  await following;
  rmSync(dir, { recursive: true, force: true });
});
