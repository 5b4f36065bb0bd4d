import { Agent, request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import type { NodeSpec, Statement } from "@moorage/contract/agent";
import { newRequest, selfSigned } from "@moorage/testkit/certificates.ts";
import { readSettings } from "@moorage/contract/settings";
import { createArchiveCalls, createArchiveLock, createClusterSecretOf, createSecretsOf } from "#databases/index.ts";
import { lockSettings, retentionSettings } from "#databases/model/settings.ts";
import { createCertificateAuthority } from "#fleet/certificate-authority.ts";
import { gatewayRoutes } from "#fleet/gateway.ts";
import { createWakeups } from "#fleet/poll-desired.ts";
import { createSamples } from "#fleet/samples.ts";
import { sealSpec, signStatement } from "#fleet/told.ts";
import { createCaptureCalls } from "#images/index.ts";
import { listen } from "#platform/db/notifications.ts";
import { createServer } from "#platform/http/server.ts";
import { createLog } from "#platform/log.ts";
import { createObjects, type Objects } from "#platform/objects.ts";
import { nextSequence } from "./next-sequence.ts";
import type { World } from "./world.ts";

/** A key and its certificate, and the address of the machine that has them. */
export type Identity = { key: string; certificate?: string; from?: string };

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

const lockConfig = readSettings({ ...retentionSettings, ...lockSettings }, {});

/** The fleet gateway over real TLS, with its own authority. */
export async function startGateway(
  world: World,
  settings: { databaseCa?: string; objects?: Objects; certificateDays?: number } = {},
) {
  const log = createLog("test", "silent");
  const objects = settings.objects ?? noObjects();
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
    sealer: world.sealer,
    // Hosts of tests do not renew, and the time of most tests may pass by weeks.
    certificateDays: settings.certificateDays ?? 365,
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
    clusterSecretOf: createClusterSecretOf(world),
    archive: createArchiveCalls({ ...world, objects, lock: createArchiveLock(objects, lockConfig) }),
    captures: createCaptureCalls(world),
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  // As agents do: simulated ones poll many times a second, and a handshake costs more than the rest of a request.
  const connections = new Agent({ keepAlive: true });
  app.server.keepAliveTimeout = 0;

  const begin = (
    as: Identity | undefined,
    path: string,
    headers: Record<string, string> = {},
    agent: Agent | false = false,
  ) =>
    httpsRequest({
      host: "127.0.0.1",
      port,
      path,
      method: "POST",
      agent,
      ...(as?.from !== undefined && { localAddress: as.from }),
      rejectUnauthorized: false,
      headers: { "content-type": "application/json", ...headers },
      ...(as?.certificate === undefined ? {} : { key: as.key, cert: as.certificate }),
    });
  const send = (as: Identity | undefined, path: string, message: object) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const call = begin(as, path, {}, connections);
      call.on("error", reject);
      call.on("response", (response) => {
        response
          .toArray()
          .then((chunks) => resolve({ status: response.statusCode ?? 0, text: chunks.join("") }), reject);
      });
      // Reports in the order in which they are sent, unless the test gives another one.
      const order = path === "/v1/observed" && { sequence: nextSequence() };
      call.end(JSON.stringify({ protocol: 1, ...order, ...message }));
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
    /** A request without its body. */
    begin,
    post,
    enrol,
    clock: world.clock,
    wakeups,
    /** What this gateway would have sent to a host. */
    signed: {
      statement: (host: number, told: Omit<Statement, "seal">): Statement => signStatement(world.sealer, host, told),
      spec: (host: number, spec: NodeSpec): NodeSpec => sealSpec(world.sealer, host, spec),
    },
    /** A host with its certificate. */
    async enrolledHost(options?: Parameters<World["registerHost"]>[0]) {
      const host = await world.registerHost(options);
      const { key, csr } = await newRequest();
      const { certificate } = (await enrol(host.enrol_token, csr)).body;
      return { ...host, key, certificate };
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      connections.destroy();
      await app.close();
      await hostListener.close();
    },
  };
}
export type Gateway = Awaited<ReturnType<typeof startGateway>>;
