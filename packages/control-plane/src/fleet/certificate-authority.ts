// The certificate library resolves its dependencies by decorators and needs this import first.
import "reflect-metadata";
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { invalid } from "#platform/errors.ts";
import { sha256 } from "#platform/sha256.ts";
import { texts } from "./texts.ts";

const DAY_MS = 86_400_000;
const VALID_DAYS = 90;
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** The subject of a certificate: a host, which is both client and server, or a server with its DNS names. */
export type CertificateHolder = { commonName: string; serves?: readonly string[] };
export type SignedCertificate = { pem: string; sha256: Buffer; keySha256: Buffer };
export type CertificateAuthority = {
  /** The certificates to trust for what this authority signs. Contains several during a change of authority. */
  pem: string;
  sign(csrPem: string, holder: CertificateHolder, now: Date): Promise<SignedCertificate>;
};

/**
 * Signs with the key, under the matching certificate of the PEM. The control plane sets the names and ignores those in
 * the request: nobody chooses their own identity.
 */
export async function createCertificateAuthority(caPem: string, caKeyPem: string): Promise<CertificateAuthority> {
  const secret = createPrivateKey(caKeyPem);
  const own = certificatesIn(caPem).find((pem) => new X509Certificate(pem).checkPrivateKey(secret));
  if (own === undefined) throw new Error("None of the authority's certificates goes with its key.");
  const ca = new x509.X509Certificate(own);
  const der = secret.export({ format: "der", type: "pkcs8" });
  const signingKey = await webcrypto.subtle.importKey("pkcs8", new Uint8Array(der), algorithm, false, ["sign"]);
  // Two authorities may share a name during a change of authority: clients distinguish them by the key identifier.
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
        // Byte for byte as in the authority's certificate: some clients find an issuer by the encoding of its name.
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
  const refused = invalid("csr", texts.csrInvalid());
  try {
    const request = new x509.Pkcs10CertificateRequest(csrPem);
    if (await request.verify()) return request;
  } catch {
    throw refused;
  }
  throw refused;
}
