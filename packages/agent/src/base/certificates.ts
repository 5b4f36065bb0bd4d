import { createPrivateKey, createPublicKey, webcrypto, type X509Certificate } from "node:crypto";
import "reflect-metadata"; // must come before x509
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

export async function newPrivateKey(): Promise<string> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
}

/** Proves that we hold the key. The gateway chooses the names in the certificate. */
export async function requestFor(pem: string): Promise<string> {
  const secret = createPrivateKey(pem);
  const pkcs8 = new Uint8Array(secret.export({ type: "pkcs8", format: "der" }));
  const spki = new Uint8Array(createPublicKey(secret).export({ type: "spki", format: "der" }));
  const keys = {
    privateKey: await webcrypto.subtle.importKey("pkcs8", pkcs8, algorithm, true, ["sign"]),
    publicKey: await webcrypto.subtle.importKey("spki", spki, algorithm, true, ["verify"]),
  };
  const request = await x509.Pkcs10CertificateRequestGenerator.create(
    { name: "CN=moorage", keys, signingAlgorithm: algorithm },
    webcrypto,
  );
  return request.toString("pem");
}

const dayMs = 86_400_000;
/** A node's certificate lasts 14 days: the gateway may be unreachable for 10 of them before it ends. */
const renewDays = 10;

export const isRenewalDue = (certificate: X509Certificate, now: Date): boolean =>
  certificate.validToDate.getTime() - now.getTime() < renewDays * dayMs;
