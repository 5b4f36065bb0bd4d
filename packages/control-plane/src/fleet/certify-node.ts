import { type CertificateReply, type CertificateRequest, PROTOCOL } from "@moorage/contract/agent";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import type { CertificateAuthority } from "./certificate-authority.ts";
import { findServedNode } from "./node-store.ts";

/** Agents renew when 10 days are left (`renewDays`), so nodes keep a valid one for 10 days without the control plane. */
const NODE_DAYS = 14;

type Owner = { accountId: number; databaseId: number };

/** Provided by the capability that owns the node: the secret of its cluster's authority. Undefined: not a cluster. */
export type ClusterSecretOf = (owner: Owner) => Promise<string | undefined>;

type CertifyDeps = { db: Db; databaseCa: CertificateAuthority; clusterSecretOf: ClusterSecretOf };

/** A host gets certificates for its own nodes only, with the names and the member's address of their desired spec. */
export const certifyNode = (
  { db, databaseCa, clusterSecretOf }: CertifyDeps,
  hostId: number,
  { node, csr }: CertificateRequest,
  now: Date,
): Promise<CertificateReply> =>
  transact(db, "fleet.certificate", async (tx) => {
    const found = await findServedNode(tx, hostId, node);
    if (found.desired_spec?.tls === undefined) throw notFound();
    const { tls, cluster } = found.desired_spec;
    const owner = { accountId: found.account_id, databaseId: found.database_id };
    const ca = cluster === undefined ? databaseCa : await clusterAuthority({ databaseCa, clusterSecretOf }, owner, now);
    const member = cluster?.members.find((each) => each.node === node)?.address;
    const holder = { commonName: `node-${node}`, days: NODE_DAYS, serves: tls.names };
    const certificate = await ca.sign(csr, { ...holder, ...(member !== undefined && { member }) }, now);
    await audit(tx, {
      at: now,
      account: found.account_id,
      actor: `host-${hostId}`,
      action: "issue_certificate",
      target: `database/${found.database_id}`,
      detail: { node, sha256: certificate.sha256.toString("hex") },
    });
    return { protocol: PROTOCOL, certificate: certificate.pem, ca: ca.pem };
  });

async function clusterAuthority(
  { databaseCa, clusterSecretOf }: Omit<CertifyDeps, "db">,
  owner: Owner,
  now: Date,
): Promise<CertificateAuthority> {
  const secret = await clusterSecretOf(owner);
  if (secret === undefined) throw notFound();
  return databaseCa.ofCluster({ name: `database-${owner.databaseId}`, secret, days: NODE_DAYS }, now);
}
