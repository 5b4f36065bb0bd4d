import { randomBytes } from "node:crypto";
import { type EnrolReply, type EnrolRequest, PROTOCOL, type RenewReply } from "@moorage/contract/agent";
import { sql } from "kysely";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { sha256 } from "#platform/sha256.ts";
import { noCertificate } from "./calling-host.ts";
import type { CertificateAuthority } from "./certificate-authority.ts";
import { dropIdentity, isRevokedKey, lockHostByName, hasKey } from "./host-store.ts";
import { texts } from "./texts.ts";

const TOKEN_HOURS = 24;
/**
 * How long other hosts accept a host's certificate; the gateway accepts it for HOST_CERTIFICATE_DAYS. Longer, because
 * clusters fail over by what their hosts exchange, also while agents or the control plane are down for a week.
 */
export const PEER_DAYS = 30;
const holderOf = (hostId: number) => ({ commonName: `host-${hostId}`, days: PEER_DAYS });

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

function newEnrolment(now: Date) {
  const token = randomBytes(32).toString("hex");
  const enrolment = {
    enrol_token_sha256: sha256(token),
    enrol_key_sha256: null,
    enrol_expires_at: new Date(now.getTime() + TOKEN_HOURS * 3_600_000),
  };
  return { token, enrolment };
}

/** Registers a host, or finds it by name. Until the host is enrolled, each call returns a new one-time token. */
export async function registerHost(
  tx: Tx,
  host: NewHost,
  now: Date,
): Promise<{ id: number; state: string; enrol_token?: string }> {
  const { token, enrolment } = newEnrolment(now);
  const saved = await tx
    .insertInto("hosts")
    .values({ ...host, ...enrolment, deletion_allowance: null, created_at: now })
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

/** The gateway refuses the host from the commit on, whatever the host says and however often it polls. */
export async function revokeHost(tx: Tx, name: string, now: Date): Promise<{ id: number; name: string }> {
  const host = await lockHostByName(tx, name);
  await dropIdentity(tx, host, now);
  return { id: host.id, name };
}

/** As `revokeHost`, with a new one-time token, which enrols a new key. Specs, nodes and reservations stay. */
export async function enrolAgain(
  tx: Tx,
  name: string,
  now: Date,
): Promise<{ id: number; name: string; enrol_token: string }> {
  const host = await lockHostByName(tx, name);
  if (host.state === "dead") throw new DomainError("wrong-state", { reason: texts.deadNotEnrolled({ name }) });
  await dropIdentity(tx, host, now);
  const { token, enrolment } = newEnrolment(now);
  await tx.updateTable("hosts").set(enrolment).where("id", "=", host.id).execute();
  return { id: host.id, name, enrol_token: token };
}

/**
 * One token, one key. The first key that arrives with a token uses it up. The owner of that key may repeat the request
 * until the token expires, because a response can be lost.
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
  const token = sha256(request.token);
  const host = await db
    .selectFrom("hosts")
    .select("id")
    .where("enrol_token_sha256", "=", token)
    .where("enrol_expires_at", ">", now)
    .executeTakeFirst();
  if (host === undefined) throw refused;
  const certificate = await ca.sign(request.csr, holderOf(host.id), now);
  await transact(db, "fleet.enrol", async (tx) => {
    const spent = await tx
      .updateTable("hosts")
      .set({
        enrol_key_sha256: certificate.keySha256,
        revoked_at: null,
        quarantined_at: null,
        state: sql`case state when 'enrolling' then 'active' else state end`,
      })
      .where("id", "=", host.id)
      .where("state", "!=", "dead")
      // Again: it may have been revoked meanwhile.
      .where("enrol_token_sha256", "=", token)
      .where((is) => is.or([is("enrol_key_sha256", "is", null), is("enrol_key_sha256", "=", certificate.keySha256)]))
      .returning("id")
      .executeTakeFirst();
    if (spent === undefined) throw refused;
    if (await isRevokedKey(tx, certificate.keySha256)) throw invalid("csr", texts.csrOfRevokedKey());
    await audit(tx, {
      at: now,
      account: null,
      actor: `host-${host.id}`,
      action: "enrol_host",
      target: `host/${host.id}`,
    });
  });
  // The other hosts refuse its former key from now on.
  await notify(db, "host");
  return { protocol: PROTOCOL, host: host.id, certificate: certificate.pem };
}

/**
 * Issues a new certificate for the enrolled key, with which the host authenticated. A new key needs a new enrolment
 * token: whoever has a stolen key for a moment must not continue with one of their own.
 */
export async function renewCertificate(
  db: Db,
  ca: CertificateAuthority,
  host: { id: number; key: Buffer },
  csr: string,
  now: Date,
): Promise<RenewReply> {
  const certificate = await ca.sign(csr, holderOf(host.id), now);
  if (!host.key.equals(certificate.keySha256)) throw invalid("csr", texts.csrOfOtherKey());
  await transact(db, "fleet.renew", async (tx) => {
    if (!(await hasKey(tx, host.id, host.key))) throw noCertificate();
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
