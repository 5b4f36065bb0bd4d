// The certificate library resolves its parts by decorators and needs this first.
import "reflect-metadata";
import { createPrivateKey, randomBytes, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { DomainError } from "#platform/errors.ts";
import { sha256 } from "#platform/sha256.ts";

const DAY_MS = 86_400_000;
const VALID_DAYS = 90;
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

export type SignedCertificate = { pem: string; sha256: Buffer; keySha256: Buffer };
export type CertificateAuthority = { sign(csrPem: string, commonName: string, now: Date): Promise<SignedCertificate> };

/** Signs host certificates. The name comes from us, never from the request: a host cannot choose who it is. */
export async function createCertificateAuthority(caPem: string, caKeyPem: string): Promise<CertificateAuthority> {
  const ca = new x509.X509Certificate(caPem);
  const der = createPrivateKey(caKeyPem).export({ format: "der", type: "pkcs8" });
  const signingKey = await webcrypto.subtle.importKey("pkcs8", new Uint8Array(der), algorithm, false, ["sign"]);
  return {
    async sign(csrPem, commonName, now) {
      const request = await readRequest(csrPem);
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: randomBytes(16).toString("hex"),
        subject: `CN=${commonName}`,
        issuer: ca.subject,
        notBefore: new Date(now.getTime() - 5 * 60_000),
        notAfter: new Date(now.getTime() + VALID_DAYS * DAY_MS),
        publicKey: request.publicKey,
        signingKey,
        signingAlgorithm: algorithm,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth], true),
        ],
      });
      return {
        pem: certificate.toString("pem"),
        sha256: sha256(new Uint8Array(certificate.rawData)),
        keySha256: sha256(new Uint8Array(request.publicKey.rawData)),
      };
    },
  };
}

async function readRequest(csrPem: string): Promise<x509.Pkcs10CertificateRequest> {
  const refused = new DomainError("invalid", {
    field: "csr",
    reason: "csr must be a valid value: a signed PKCS #10 request in PEM",
  });
  try {
    const request = new x509.Pkcs10CertificateRequest(csrPem);
    if (await request.verify()) return request;
  } catch {
    throw refused;
  }
  throw refused;
}
