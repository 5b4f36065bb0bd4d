import type { TLSSocket } from "node:tls";
import {
  ArchivedRequest,
  CertificateRequest,
  EnrolRequest,
  ImageUploadsRequest,
  KeyringRequest,
  ObservedRequest,
  PROTOCOL,
  RecipeRequest,
  RenewRequest,
  SamplesRequest,
  type SecretsReply,
  SecretsRequest,
  UploadsRequest,
  VerifiedRequest,
  DesiredRequest,
} from "@moorage/contract/agent";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, invalid, notFound } from "#platform/errors.ts";
import { validate } from "#platform/http/validate.ts";
import type { ArchiveCalls } from "./archive-calls.ts";
import type { CaptureCalls } from "./capture-calls.ts";
import type { CertificateAuthority } from "./certificate-authority.ts";
import { enrolHost, renewCertificate } from "./enrol.ts";
import { dropPreviousCertificate, findHostByCertificate, type HostRow } from "./host-store.ts";
import { certifyNode } from "./node-certificate.ts";
import { observe } from "./observe.ts";
import type { Samples } from "./samples.ts";
import { pollDesired } from "./poll-desired.ts";
import { texts } from "./texts.ts";
import type { Wakeups } from "./wakeups.ts";

export type GatewayDeps = {
  db: Db;
  clock: Clock;
  ca: CertificateAuthority;
  /**
   * Separate from the authority of the hosts: a certificate that tenants trust must not authenticate here, nor the
   * reverse.
   */
  databaseCa: CertificateAuthority;
  wakeups: Wakeups;
  samples: Samples;
  nudgeRelay: () => void;
  closing: AbortSignal;
  /** Provided by the capability that owns the node. */
  secretsOf: (owner: {
    accountId: number;
    databaseId: number;
    node: string;
  }) => Promise<Omit<SecretsReply, "protocol">>;
  /** Provided by the capability that owns the node. */
  archive: ArchiveCalls;
  /** Provided by the capability that owns images. */
  captures: CaptureCalls;
};

/** The transactions of this process by name: fault drills kill the process at each of them. */
export const gatewaySteps = [
  "fleet.enrol",
  "fleet.renew",
  "fleet.observe",
  "fleet.digest",
  "fleet.secrets",
  "fleet.certificate",
  "fleet.uploads",
  "fleet.archived",
  "fleet.recipe",
  "fleet.verified",
  "fleet.keyring",
  "fleet.captures",
  "fleet.image-uploads",
] as const;

/** A digest holds every spec of the host, and a spec holds its whole allow list: about 700 KB for 10,000 addresses. */
const DIGEST_LIMIT = 128 * 1024 * 1024;

export function gatewayRoutes(app: FastifyInstance, deps: GatewayDeps): void {
  const { db, clock } = deps;
  app.get("/health", async () => ({ status: "ok" }));

  app.post("/v1/enrol", async (request) => enrolHost(db, deps.ca, message(EnrolRequest, request), clock()));

  app.post("/v1/renew", async (request) => {
    const { id } = await callingHost(db, request);
    const { csr } = message(RenewRequest, request);
    return renewCertificate(db, deps.ca, { id, used: fingerprintOf(request) }, csr, clock());
  });

  app.post("/v1/desired", async (request) =>
    pollDesired(deps, await callingHost(db, request), message(DesiredRequest, request), clock()),
  );

  const complete = { bodyLimit: DIGEST_LIMIT, onRequest: requireCertificate };
  app.post("/v1/observed", complete, async (request) => {
    const host = await callingHost(db, request);
    const reports = message(ObservedRequest, request);
    if (reports.digest !== undefined) await storeDigest(db, host, reports, clock());
    const observed = await observe(db, host, reports, clock());
    const captured = await deps.captures.observed(host.id, reports.captures ?? []);
    if (observed || captured) deps.nudgeRelay();
    return { protocol: PROTOCOL };
  });

  app.post("/v1/secrets", async (request): Promise<SecretsReply> => {
    const host = await callingHost(db, request);
    const { node } = message(SecretsRequest, request);
    const owner = await transact(db, "fleet.secrets", async (tx) => {
      const found = await tx
        .selectFrom("nodes")
        .select(["account_id as accountId", "database_id as databaseId"])
        .where("id", "=", node)
        .where("host_id", "=", host.id)
        .where("tombstoned", "=", false)
        .executeTakeFirstOrThrow(notFound);
      await audit(tx, {
        at: clock(),
        account: found.accountId,
        actor: `host-${host.id}`,
        action: "read_credentials",
        target: `database/${found.databaseId}`,
      });
      return found;
    });
    return { protocol: PROTOCOL, ...(await deps.secretsOf({ ...owner, node })) };
  });

  const { archive } = deps;
  const fromHost =
    <Schema extends z.ZodType>(
      schema: Schema,
      answer: (hostId: number, payload: z.output<Schema>) => Promise<object>,
    ) =>
    async (request: FastifyRequest): Promise<object> =>
      answer((await callingHost(db, request)).id, message(schema, request));
  app.post("/v1/uploads", fromHost(UploadsRequest, archive.uploads));
  // After a long outage a host has many logs to report.
  app.post("/v1/archived", complete, fromHost(ArchivedRequest, archive.archived));
  app.post("/v1/recipe", fromHost(RecipeRequest, archive.recipe));
  app.post("/v1/verified", fromHost(VerifiedRequest, archive.verified));
  app.post("/v1/keyring", fromHost(KeyringRequest, archive.keyring));
  app.post("/v1/image-uploads", fromHost(ImageUploadsRequest, deps.captures.uploads));

  app.post("/v1/samples", async (request) => {
    const { id } = await callingHost(db, request);
    await deps.samples.take(id, message(SamplesRequest, request));
    return { protocol: PROTOCOL };
  });

  app.post("/v1/certificate", async (request) => {
    const { id } = await callingHost(db, request);
    return certifyNode(db, deps.databaseCa, id, message(CertificateRequest, request), clock());
  });
}

const noCertificate = (): DomainError => new DomainError("unauthorized", { reason: texts.certificateRequired() });

/** Runs before the body is read, because the body may be long. */
async function requireCertificate(request: FastifyRequest): Promise<void> {
  if (!(request.raw.socket as TLSSocket).authorized) throw noCertificate();
}

/** A certificate authenticates one host, and only while the row of that host names the certificate. */
async function callingHost(db: Db, request: FastifyRequest): Promise<HostRow> {
  const socket = request.raw.socket as TLSSocket;
  if (!socket.authorized) throw noCertificate();
  const fingerprint = fingerprintOf(request);
  const host = await findHostByCertificate(db, fingerprint);
  if (host === undefined || host.state === "dead") throw noCertificate();
  if (host.previous_certificate_sha256 !== null && host.certificate_sha256?.equals(fingerprint) === true)
    await dropPreviousCertificate(db, host.id);
  return host;
}

const fingerprintOf = (request: FastifyRequest): Buffer =>
  Buffer.from((request.raw.socket as TLSSocket).getPeerCertificate().fingerprint256.replaceAll(":", ""), "hex");

function message<Schema extends z.ZodType>(schema: Schema, request: FastifyRequest): z.output<Schema> {
  const { protocol } = (request.body ?? {}) as { protocol?: unknown };
  if (protocol !== PROTOCOL) throw invalid("protocol", texts.protocolUnsupported({ version: PROTOCOL }));
  return validate(schema, request.body);
}

const storeDigest = (db: Db, host: HostRow, reports: ObservedRequest, now: Date): Promise<void> =>
  transact(db, "fleet.digest", async (tx) => {
    const digest = { host_id: host.id, epoch: reports.digest as number, nodes: JSON.stringify(reports.nodes), at: now };
    await tx
      .insertInto("host_digests")
      .values(digest)
      .onConflict((conflict) => conflict.columns(["host_id", "epoch"]).doUpdateSet({ nodes: digest.nodes, at: now }))
      .execute();
    await tx.updateTable("hosts").set({ digest_epoch: digest.epoch }).where("id", "=", host.id).execute();
  });
