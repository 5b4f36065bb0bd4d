import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { type EnrolReply, type EnrolRequest, PROTOCOL, type RenewReply } from "@moorage/contract/agent";
import { audit } from "#platform/audit.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError } from "#platform/errors.ts";
import { sha256 } from "#platform/sha256.ts";
import type { CertificateAuthority } from "./certificate-authority.ts";
import { texts } from "./texts.ts";

const TOKEN_HOURS = 24;

export type NewHost = {
  name: string;
  region: string;
  failure_domain: string;
  address: string;
  address6?: string | undefined;
  private_address?: string | undefined;
  node_network: string;
  memory_mb: number;
  disk_mb: number;
  vcpus: number;
};

/** Registers a host, or finds it by name. Until the host is enrolled, each call returns a new one-time token. */
export async function registerHost(
  tx: Tx,
  host: NewHost,
  now: Date,
): Promise<{ id: number; state: string; enrol_token?: string }> {
  const token = randomBytes(32).toString("hex");
  const enrolment = {
    enrol_token_sha256: sha256(token),
    enrol_key_sha256: null,
    enrol_expires_at: new Date(now.getTime() + TOKEN_HOURS * 3_600_000),
  };
  const saved = await tx
    .insertInto("hosts")
    .values({ ...host, ...enrolment, certificate_sha256: null, deletion_allowance: null, created_at: now })
    .onConflict((conflict) => conflict.column("name").doUpdateSet(enrolment).where("hosts.state", "=", "enrolling"))
    .returning(["id", "state"])
    .executeTakeFirst();
  const found = await learnAddresses(tx, host);
  return saved === undefined ? found : { ...found, enrol_token: token };
}

/** A host may have been registered before its other addresses were known. An address that is set stays. */
const learnAddresses = (tx: Tx, { name, address6, private_address }: NewHost) =>
  tx
    .updateTable("hosts")
    .set({
      address6: sql`coalesce(address6, ${address6 ?? null}::inet)`,
      private_address: sql`coalesce(private_address, ${private_address ?? null}::inet)`,
    })
    .where("name", "=", name)
    .returning(["id", "state"])
    .executeTakeFirstOrThrow();

/**
 * One token, one key. The first key that arrives with a token uses it up. The owner of that key may repeat the request
 * until the token expires, because a response can be lost; only the newest certificate is valid.
 */
export async function enrolHost(
  db: Db,
  ca: CertificateAuthority,
  request: EnrolRequest,
  now: Date,
): Promise<EnrolReply> {
  const refused = new DomainError("unauthorized", {
    field: "token",
    reason: texts.enrolTokenInvalid(),
  });
  const host = await db
    .selectFrom("hosts")
    .select("id")
    .where("enrol_token_sha256", "=", sha256(request.token))
    .where("enrol_expires_at", ">", now)
    .executeTakeFirst();
  if (host === undefined) throw refused;
  const certificate = await ca.sign(request.csr, { commonName: `host-${host.id}` }, now);
  await transact(db, "fleet.enrol", async (tx) => {
    const spent = await tx
      .updateTable("hosts")
      .set({ enrol_key_sha256: certificate.keySha256, certificate_sha256: certificate.sha256, state: "active" })
      .where("id", "=", host.id)
      .where("state", "in", ["enrolling", "active"])
      .where((is) => is.or([is("enrol_key_sha256", "is", null), is("enrol_key_sha256", "=", certificate.keySha256)]))
      .returning("id")
      .executeTakeFirst();
    if (spent === undefined) throw refused;
    await audit(tx, {
      at: now,
      account: null,
      actor: `host-${host.id}`,
      action: "enrol_host",
      target: `host/${host.id}`,
    });
  });
  return { protocol: PROTOCOL, host: host.id, certificate: certificate.pem };
}

/**
 * Issues a new certificate to a host that authenticated with a valid one. The old one, `used`, stays valid until the
 * new one is first used.
 */
export async function renewCertificate(
  db: Db,
  ca: CertificateAuthority,
  host: { id: number; used: Buffer },
  csr: string,
  now: Date,
): Promise<RenewReply> {
  const certificate = await ca.sign(csr, { commonName: `host-${host.id}` }, now);
  await transact(db, "fleet.renew", async (tx) => {
    await tx
      .updateTable("hosts")
      .set({ certificate_sha256: certificate.sha256, previous_certificate_sha256: host.used })
      .where("id", "=", host.id)
      .execute();
    await audit(tx, {
      at: now,
      account: null,
      actor: `host-${host.id}`,
      action: "renew_certificate",
      target: `host/${host.id}`,
    });
  });
  return { protocol: PROTOCOL, certificate: certificate.pem };
}
