import { webcrypto } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Socket } from "node:net";
import { json } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import {
  type ArchivedReply,
  ArchivedRequest,
  type Capture,
  type CaptureReport,
  CertificateRequest,
  type DeletionAllowance,
  type DesiredReply,
  EnrolRequest,
  ImageUploadsRequest,
  KeyringRequest,
  type NodeReport,
  type NodeSpec,
  ObservedRequest,
  PROTOCOL,
  type Recipe,
  RecipeRequest,
  RenewRequest,
  SamplesRequest,
  SecretsRequest,
  UploadsRequest,
  VerifiedRequest,
  DesiredRequest,
} from "@moorage/contract/agent";
import "reflect-metadata"; // must come before x509
import type { ObjectStore } from "@moorage/testkit/object-store.ts";
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const validFor = (days: number, ageDays = 0) => ({
  notBefore: new Date(Date.now() - 60_000 - ageDays * 86_400_000),
  notAfter: new Date(Date.now() + days * 86_400_000),
});
/** A host's certificate is to be renewed as soon as it is issued. */
const [hostDays, hostAgeDays] = [1, 6];
const nodeDays = 90;
const crypto = webcrypto;
const pollMs = 1000;

/**
 * A gateway that speaks the real protocol over real mutual TLS and keeps everything in memory. Only for tests. It has
 * one host; gateways whose hosts trust each other share one authority, and those of a cluster's hosts the cluster's.
 */
export async function startFakeGateway(
  address: string,
  port: number,
  token: string,
  of?: { host: number; authority: Authority; cluster: Authority },
) {
  const { host, authority } = of ?? { host: 7, authority: await makeAuthority() };
  const clusterAuthority = of?.cluster ?? (await makeAuthority());
  const databaseAuthority = await makeAuthority();
  /** How the next node certificates are issued, if not as usual. */
  const certificateTerms: { days: number; after?: Promise<unknown> }[] = [];
  const server = await makeServerIdentity(authority, address);
  const desired = {
    epoch: 1,
    revision: 0,
    nodes: [] as unknown[],
    digest: false,
    allowance: undefined as DeletionAllowance | undefined,
    told: undefined as DesiredRequest["told"],
    revoked: undefined as DesiredReply["revoked"],
  };
  /** The newest poll. */
  const polled = { told: undefined as DesiredRequest["told"], revoked: undefined as string | undefined };
  /** All desired captures. Undefined: an older gateway that does not know captures. */
  const captures = { desired: undefined as Capture[] | undefined, reports: [] as CaptureReport[] };
  const reports: NodeReport[] = [];
  const messages: ObservedRequest[] = [];
  const requestedPaths: string[] = [];
  const archived: ArchivedRequest["nodes"] = [];
  /** Where uploads go, by timeline; whether `archived` is answered; and where a cluster's archive then ends. */
  const archive = {
    store: undefined as ObjectStore | undefined,
    acknowledges: true,
    endOf: undefined as ((reported: ArchivedRequest["nodes"]) => ArchivedReply["nodes"]) | undefined,
  };
  const keyrings = new Map<string, string>();
  const samples: SamplesRequest["nodes"] = [];
  /** By node and purpose: the answer to a recipe request. */
  const recipes = new Map<string, () => Promise<Recipe>>();
  const verified: VerifiedRequest[] = [];
  const secrets = { password: "correct horse ' battery", groupPassword: "a secret among members" };
  const hostName = `host-${host}`;

  const routes: Record<string, (body: unknown) => Promise<object>> = {
    "/v1/enrol": async (body) => {
      const request = EnrolRequest.parse(body);
      if (request.token !== token) throw new Error("wrong token");
      return { host, certificate: await signRequest(authority, hostName, request.csr) };
    },
    "/v1/renew": async (body) => ({
      certificate: await signRequest(authority, hostName, RenewRequest.parse(body).csr),
    }),
    "/v1/desired": async (body) => {
      const { epoch, revision, told, revoked, captures: known = [] } = DesiredRequest.parse(body);
      Object.assign(polled, { told, revoked });
      const until = Date.now() + pollMs;
      const isNews = () => desired.revision !== revision || desired.epoch !== epoch;
      const areOther = () =>
        captures.desired !== undefined &&
        new Set(captures.desired.map(({ id }) => id)).symmetricDifference(new Set(known)).size > 0;
      while (Date.now() < until && !isNews() && !areOther() && !desired.digest)
        await new Promise((resolve) => setTimeout(resolve, 10));
      const { nodes, ...rest } = desired;
      return { ...rest, ...(isNews() && { nodes }), ...(areOther() && { captures: captures.desired }) };
    },
    "/v1/observed": async (body) => {
      const message = ObservedRequest.parse(body);
      messages.push(message);
      reports.push(...message.nodes);
      if (captures.desired !== undefined) captures.reports.push(...(message.captures ?? []));
      return {};
    },
    "/v1/image-uploads": async (body) => {
      const { capture, content, names } = ImageUploadsRequest.parse(body);
      if (!captures.desired?.some(({ id }) => id === capture)) throw new Error("no such path");
      if (archive.store === undefined) throw new Error("there is no object store");
      const { presignPut } = archive.store;
      return { urls: await Promise.all(names.map((name) => presignPut(`${capture}/${content}/${name}`))) };
    },
    "/v1/uploads": async (body) => {
      const { names, timeline } = UploadsRequest.parse(body);
      if (archive.store === undefined) throw new Error("there is no object store");
      const { presignPut } = archive.store;
      return { urls: await Promise.all(names.map((name) => presignPut(`${timeline}/${name}`))) };
    },
    "/v1/archived": async (body) => {
      if (!archive.acknowledges) throw new Error("not now");
      const { nodes } = ArchivedRequest.parse(body);
      const ends = archive.endOf?.(nodes);
      archived.push(...nodes);
      return { ...(ends !== undefined && { nodes: ends }) };
    },
    "/v1/certificate": async (body) => {
      const { node, csr } = CertificateRequest.parse(body);
      const { days, after } = certificateTerms.shift() ?? { days: nodeDays };
      await after;
      const spec = (desired.nodes as NodeSpec[]).find((each) => each.node === node);
      const names = (spec?.tls?.names ?? []).map((value) => ({ type: "dns", value }) as const);
      const member = spec?.cluster?.members.find((each) => each.node === node);
      const addresses = member === undefined ? [] : [{ type: "ip", value: member.address } as const];
      const extensions = [new x509.SubjectAlternativeNameExtension([...names, ...addresses])];
      const signedBy = member === undefined ? databaseAuthority : clusterAuthority;
      return {
        certificate: await signRequest(signedBy, `node-${node}`, csr, extensions, validFor(days)),
        ca: signedBy.pem,
      };
    },
    "/v1/recipe": async (body) => {
      const { node, purpose } = RecipeRequest.parse(body);
      const recipe = await recipes.get(`${node} ${purpose}`)?.();
      if (recipe === undefined) throw new Error("there is no recipe");
      return { recipe };
    },
    "/v1/verified": async (body) => {
      verified.push(VerifiedRequest.parse(body));
      return {};
    },
    "/v1/samples": async (body) => {
      samples.push(...SamplesRequest.parse(body).nodes);
      return {};
    },
    "/v1/keyring": async (body) => {
      const { node, keyring } = KeyringRequest.parse(body);
      keyrings.set(node, keyring);
      return {};
    },
    "/v1/secrets": async (body) => {
      const keyring = keyrings.get(SecretsRequest.parse(body).node);
      return {
        admin_password: secrets.password,
        group_password: secrets.groupPassword,
        ...(keyring !== undefined && { keyring }),
      };
    },
  };

  async function reply(path: string, body: unknown): Promise<object> {
    requestedPaths.push(path);
    const route = routes[path];
    if (route === undefined) throw new Error("no such path");
    return route(body);
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url ?? "";
    if (path !== "/v1/enrol" && !(req.socket as TLSSocket).authorized) return void res.writeHead(401).end();
    try {
      res.end(JSON.stringify({ protocol: PROTOCOL, ...(await reply(path, await json(req))) }));
    } catch (error) {
      res.writeHead(400).end(String(error));
    }
  }
  const tls = { ...server, ca: authority.pem, requestCert: true, rejectUnauthorized: false };
  const listener = createServer(tls, (req, res) => void serve(req, res));
  const open = () => new Promise<void>((resolve) => listener.listen(port, address, resolve));
  // `closeAllConnections` leaves those whose handshake is under way.
  const sockets = new Set<Socket>();
  listener.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const close = () =>
    new Promise<void>((resolve) => {
      listener.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  await open();
  return {
    url: `https://${address}:${port}`,
    ca: authority.pem,
    databaseCa: databaseAuthority.pem,
    certificateTerms,
    requestedPaths,
    archive,
    archived,
    captures,
    keyrings,
    messages,
    reports,
    recipes,
    samples,
    secrets,
    verified,
    desired,
    polled,
    setDesired(...nodes: unknown[]): void {
      desired.nodes = nodes;
      desired.revision += 1;
    },
    latest: (node: string): NodeReport | undefined => reports.findLast((report) => report.node === node),
    open,
    close,
  };
}
export type FakeGateway = Awaited<ReturnType<typeof startFakeGateway>>;

export type Authority = { keys: webcrypto.CryptoKeyPair; certificate: x509.X509Certificate; pem: string };

export async function makeAuthority(name = "test authority"): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${name}`,
      keys,
      signingAlgorithm: algorithm,
      ...validFor(nodeDays),
      extensions: [new x509.BasicConstraintsExtension(true)],
    },
    crypto,
  );
  return { keys, certificate, pem: certificate.toString("pem") };
}

async function makeServerIdentity(authority: Authority, address: string) {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const names = new x509.SubjectAlternativeNameExtension([{ type: "ip", value: address }]);
  const certificate = await issue(authority, "CN=gateway", keys.publicKey, [names]);
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return { cert: certificate, key };
}

export async function signRequest(
  authority: Authority,
  name: string,
  csr: string,
  extensions: x509.Extension[] = [],
  valid = validFor(hostDays, hostAgeDays),
): Promise<string> {
  const request = new x509.Pkcs10CertificateRequest(csr);
  if (!(await request.verify(crypto))) throw new Error("the request is not signed by its own key");
  const publicKey = await request.publicKey.export(algorithm, ["verify"], crypto);
  return issue(authority, `CN=${name}`, publicKey, extensions, valid);
}

async function issue(
  authority: Authority,
  subject: string,
  publicKey: CryptoKey,
  extensions: x509.Extension[],
  valid = validFor(hostDays),
): Promise<string> {
  const certificate = await x509.X509CertificateGenerator.create(
    {
      subject,
      issuer: authority.certificate.subject,
      publicKey,
      signingKey: authority.keys.privateKey,
      signingAlgorithm: algorithm,
      extensions,
      ...valid,
    },
    crypto,
  );
  return certificate.toString("pem");
}
