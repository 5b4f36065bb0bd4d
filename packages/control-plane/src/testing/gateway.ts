import { request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { createArchiveCalls, createSecretsOf } from "#databases/index.ts";
import { createCertificateAuthority } from "#fleet/certificate-authority.ts";
import { gatewayRoutes } from "#fleet/gateway.ts";
import { createSamples } from "#fleet/samples.ts";
import { createWakeups } from "#fleet/wakeups.ts";
import { createCaptureCalls } from "#images/index.ts";
import { listen } from "#platform/db/notifications.ts";
import { createServer } from "#platform/http/server.ts";
import { createObjects, type Objects } from "#platform/objects.ts";
import { createLog } from "#platform/log.ts";
import { newRequest, selfSigned } from "./certificates.ts";
import type { World } from "./world.ts";

/** A key and its certificate. */
export type Identity = { key: string; certificate?: string };

export type Answer<Body> = { status: number; body: Body };

/** For tests that store nothing: nothing listens there. */
const noObjects = (): Objects =>
  createObjects({
    url: "http://127.0.0.1:9",
    region: "none",
    accessKey: "none",
    secretKey: "none",
    bucket: "none",
    putSeconds: 3600,
    getSeconds: 3600,
  });

/** The fleet gateway over real TLS, with its own authority. */
export async function startGateway(world: World, settings: { databaseCa?: string; objects?: Objects } = {}) {
  const log = createLog("test", "silent");
  const authority = await selfSigned("CN=test authority", { authority: true });
  const server = await selfSigned("CN=127.0.0.1", { issuer: authority });
  const wakeups = createWakeups();
  const samples = createSamples(world);
  const closing = new AbortController();
  // Awaited: when listening begins every poll is woken, and a test may rely on a quiet one.
  const listening = Promise.withResolvers<void>();
  const hostListener = listen(world.databaseUrl, "host", log, {
    onNotification: (id) => wakeups.wake(id === "" ? "all" : Number(id)),
    onConnect: () => {
      wakeups.wake("all");
      listening.resolve();
    },
  });
  await listening.promise;
  const app = createServer(log, {
    https: {
      key: server.key,
      cert: server.certificate,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: false,
    },
  });
  gatewayRoutes(app, {
    db: world.db,
    clock: world.clock,
    ca: await createCertificateAuthority(authority.certificate, authority.key),
    databaseCa: await createCertificateAuthority(
      settings.databaseCa ?? world.databaseCa.certificate,
      world.databaseCa.key,
    ),
    wakeups,
    samples,
    nudgeRelay: () => {
      world.nudges.relay++;
    },
    closing: closing.signal,
    secretsOf: createSecretsOf(world),
    archive: createArchiveCalls({ ...world, objects: settings.objects ?? noObjects() }),
    captures: createCaptureCalls(world),
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;

  const send = (as: Identity | undefined, path: string, message: object) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const call = httpsRequest({
        host: "127.0.0.1",
        port,
        path,
        method: "POST",
        agent: false,
        rejectUnauthorized: false,
        headers: { "content-type": "application/json" },
        ...(as?.certificate === undefined ? {} : { key: as.key, cert: as.certificate }),
      });
      call.on("error", reject);
      call.on("response", (response) => {
        response
          .toArray()
          .then((chunks) => resolve({ status: response.statusCode ?? 0, text: chunks.join("") }), reject);
      });
      call.end(JSON.stringify({ protocol: 1, ...message }));
    });
  const post = async <Body = Record<string, unknown>>(
    as: Identity | undefined,
    path: string,
    message: object,
  ): Promise<Answer<Body>> => {
    const { status, text } = await send(as, path, message);
    return { status, body: JSON.parse(text) as Body };
  };
  const enrol = (token: string, csr: string) =>
    post<{ host: number; certificate: string }>(undefined, "/v1/enrol", { token, csr });

  return {
    post,
    enrol,
    clock: world.clock,
    wakeups,
    /** A host with its certificate. */
    async enrolledHost(options?: Parameters<World["registerHost"]>[0]) {
      const host = await world.registerHost(options);
      const { key, csr } = await newRequest();
      const { certificate } = (await enrol(host.enrol_token, csr)).body;
      return { ...host, key, certificate };
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await app.close();
      await hostListener.close();
    },
  };
}
export type Gateway = Awaited<ReturnType<typeof startGateway>>;
