import { type CertificateReply, type CertificateRequest, PROTOCOL } from "@moorage/contract/agent";
import { audit } from "#platform/audit.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { notFound } from "#platform/errors.ts";
import type { CertificateAuthority } from "./certificate-authority.ts";

/** A host gets certificates for its own nodes only, with the names of their desired spec. */
export const certifyNode = (
  db: Db,
  ca: CertificateAuthority,
  hostId: number,
  { node, csr }: CertificateRequest,
  now: Date,
): Promise<CertificateReply> =>
  transact(db, "fleet.certificate", async (tx) => {
    const found = await tx
      .selectFrom("nodes")
      .select(["account_id", "database_id", "desired_spec"])
      .where("id", "=", node)
      .where("host_id", "=", hostId)
      .where("tombstoned", "=", false)
      .executeTakeFirstOrThrow(notFound);
    const names = found.desired_spec?.tls?.names;
    if (names === undefined) throw notFound();
    const certificate = await ca.sign(csr, { commonName: `node-${node}`, serves: names }, now);
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
