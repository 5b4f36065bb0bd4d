// The certificate library resolves its parts by decorators and needs this first.
import "reflect-metadata";
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { DomainError } from "#platform/errors.ts";
import { sha256 } from "#platform/sha256.ts";

const DAY_MS = 86_400_000;
const VALID_DAYS = 90;
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** Whom a certificate is for: a host, which calls us and other hosts, and answers them; or a server, by its names. */
export type CertificateHolder = { commonName: string; serves?: readonly string[] };
export type SignedCertificate = { pem: string; sha256: Buffer; keySha256: Buffer };
export type CertificateAuthority = {
  /** What to trust in order to trust what it signs; other authorities too, while one takes over from another. */
  pem: string;
  sign(csrPem: string, holder: CertificateHolder, now: Date): Promise<SignedCertificate>;
};

/**
 * Signs with the key, under the one certificate of the PEM that goes with it. The names come from us, never from the
 * request: nobody chooses who they are.
 */
export async function createCertificateAuthority(caPem: string, caKeyPem: string): Promise<CertificateAuthority> {
  const secret = createPrivateKey(caKeyPem);
  const own = certificatesIn(caPem).find((pem) => new X509Certificate(pem).checkPrivateKey(secret));
  if (own === undefined) throw new Error("None of the authority's certificates goes with its key.");
  const ca = new x509.X509Certificate(own);
  const der = secret.export({ format: "der", type: "pkcs8" });
  const signingKey = await webcrypto.subtle.importKey("pkcs8", new Uint8Array(der), algorithm, false, ["sign"]);
  // Authorities may share a name while one takes over from the other: clients choose between them by this.
  const keyId = ca.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
  return {
    pem: caPem,
    async sign(csrPem, { commonName, serves }, now) {
      const request = await readRequest(csrPem);
      const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
      const usages = serves === undefined ? [clientAuth, serverAuth] : [serverAuth];
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: randomBytes(16).toString("hex"),
        subject: `CN=${commonName}`,
        // As the authority has it, byte for byte: some clients look for an issuer by the encoding of its name.
        issuer: ca.subjectName,
        notBefore: new Date(now.getTime() - 5 * 60_000),
        notAfter: new Date(now.getTime() + VALID_DAYS * DAY_MS),
        publicKey: request.publicKey,
        signingKey,
        signingAlgorithm: algorithm,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension(usages, true),
          ...(keyId === undefined ? [] : [new x509.AuthorityKeyIdentifierExtension(keyId)]),
          ...(serves === undefined
            ? []
            : [new x509.SubjectAlternativeNameExtension(serves.map((value) => ({ type: "dns", value })))]),
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

const certificatesIn = (pem: string): string[] =>
  pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];

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
