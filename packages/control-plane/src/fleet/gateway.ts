import {
  ArchivedRequest,
  CertificateRequest,
  DesiredRequest,
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
} from "@moorage/contract/agent";
import { release } from "@moorage/contract/process";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { sql } from "kysely";
import type { z } from "zod";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { invalid, notFound } from "#platform/errors.ts";
import { validate } from "#platform/http/validate.ts";
import { callingHost, type CallingDeps, keyOf, requireValid } from "./calling-host.ts";
import type { ArchiveCalls, CaptureCalls } from "./host-calls.ts";
import type { CertificateAuthority } from "./certificate-authority.ts";
import { certifyNode, type ClusterSecretOf } from "./certify-node.ts";
import { enrolHost, renewCertificate } from "./enrol.ts";
import { limitEachHost } from "./host-share.ts";
import type { HostRow } from "./host-store.ts";
import { admitLongMessages } from "./long-messages.ts";
import { observe } from "./observe.ts";
import { pollDesired, type Wakeups } from "./poll-desired.ts";
import { requireTrusted } from "./quarantine.ts";
import type { Samples } from "./samples.ts";
import type { Signing } from "./told.ts";
import { texts } from "./texts.ts";

export type GatewayDeps = CallingDeps & {
  /** Signs what hosts are told, so that they can show it after the database was set back. */
  sealer: Signing;
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
  clusterSecretOf: ClusterSecretOf;
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
  "fleet.quarantine",
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
  limitEachHost(app);
  app.get("/health", async () => ({ status: "ok", ...release }));

  app.post("/v1/enrol", async (request) => enrolHost(db, deps.ca, message(EnrolRequest, request), clock()));

  app.post("/v1/renew", async (request) => {
    const { id } = await callingHost(deps, request);
    const { csr } = message(RenewRequest, request);
    return renewCertificate(db, deps.ca, { id, key: keyOf(request) }, csr, clock());
  });

  app.post("/v1/desired", async (request) => {
    const host = await callingHost(deps, request);
    const key = keyOf(request);
    const reply = await pollDesired(deps, host, message(DesiredRequest, request), clock());
    // It may have been revoked while it waited.
    await requireValid(db, key);
    return reply;
  });

  const complete = { bodyLimit: DIGEST_LIMIT, onRequest: admitLongMessages(deps) };
  app.post("/v1/observed", complete, async (request) => {
    const host = await callingHost(deps, request);
    const reports = message(ObservedRequest, request);
    if (reports.digest !== undefined) await storeDigest(db, host, reports, clock());
    const observed = await observe(deps, host, reports, clock());
    const captured = await deps.captures.observed(host.id, reports.captures ?? []);
    if (observed || captured) deps.nudgeRelay();
    return { protocol: PROTOCOL };
  });

  /** For secrets, certificates and addresses: a host in quarantine gets none. */
  const trustedHost = async (request: FastifyRequest): Promise<HostRow> => {
    const host = await callingHost(deps, request);
    requireTrusted(host);
    return host;
  };

  app.post("/v1/secrets", async (request): Promise<SecretsReply> => {
    const host = await trustedHost(request);
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
      answer((await trustedHost(request)).id, message(schema, request));
  app.post("/v1/uploads", fromHost(UploadsRequest, archive.uploads));
  // After a long outage a host has many logs to report.
  app.post("/v1/archived", complete, fromHost(ArchivedRequest, archive.archived));
  app.post("/v1/recipe", fromHost(RecipeRequest, archive.recipe));
  app.post("/v1/verified", fromHost(VerifiedRequest, archive.verified));
  app.post("/v1/keyring", fromHost(KeyringRequest, archive.keyring));
  app.post("/v1/image-uploads", fromHost(ImageUploadsRequest, deps.captures.uploads));

  app.post("/v1/samples", async (request) => {
    const { id } = await callingHost(deps, request);
    await deps.samples.take(id, message(SamplesRequest, request));
    return { protocol: PROTOCOL };
  });

  app.post("/v1/certificate", async (request) => {
    const { id } = await trustedHost(request);
    return certifyNode(deps, id, message(CertificateRequest, request), clock());
  });
}

function message<Schema extends z.ZodType>(schema: Schema, request: FastifyRequest): z.output<Schema> {
  const { protocol } = (request.body ?? {}) as { protocol?: unknown };
  if (protocol !== PROTOCOL) throw invalid("protocol", texts.protocolUnsupported({ version: PROTOCOL }));
  return validate(schema, request.body);
}

/** Two may be on their way, if the first was not answered in time: the newer one stays. */
const storeDigest = (db: Db, host: HostRow, reports: ObservedRequest, now: Date): Promise<void> =>
  transact(db, "fleet.digest", async (tx) => {
    const epoch = reports.digest as number;
    const { start, count } = reports.sequence;
    const digest = { start, count, nodes: JSON.stringify(reports.nodes), at: now };
    await tx
      .insertInto("host_digests")
      .values({ host_id: host.id, epoch, ...digest })
      .onConflict((conflict) =>
        conflict
          .columns(["host_id", "epoch"])
          .doUpdateSet(digest)
          .where(sql<boolean>`(host_digests.start, host_digests.count) < (excluded.start, excluded.count)`),
      )
      .execute();
    await tx
      .updateTable("hosts")
      .set({ digest_epoch: epoch })
      .where("id", "=", host.id)
      .where("digest_epoch", "<", epoch)
      .execute();
  });
