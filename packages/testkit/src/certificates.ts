// The certificate library resolves its dependencies by decorators and needs this import first.
import "reflect-metadata";
import { KeyObject, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const day = 86_400_000;

const newKeys = () => webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
const pemOf = (key: webcrypto.CryptoKey): string => KeyObject.from(key).export({ type: "pkcs8", format: "pem" });

/** A new key and a certificate request, with names that the authority must ignore. */
export async function newRequest(name = "CN=host-1", alsoFor: string[] = []): Promise<{ key: string; csr: string }> {
  const keys = await newKeys();
  const names = alsoFor.map((value) => ({ type: "dns", value }) as const);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name,
    keys,
    signingAlgorithm: algorithm,
    extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)],
  });
  return { key: pemOf(keys.privateKey), csr: request.toString("pem") };
}

/** A certificate request of a key of this kind. */
export async function requestOf(
  kind: webcrypto.RsaHashedKeyGenParams | webcrypto.EcKeyGenParams | "Ed25519",
): Promise<string> {
  const keys = (await webcrypto.subtle.generateKey(kind, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
  const signingAlgorithm = typeof kind === "string" ? { name: kind } : { hash: "SHA-256", ...kind };
  const request = await x509.Pkcs10CertificateRequestGenerator.create({ name: "CN=host-1", keys, signingAlgorithm });
  return request.toString("pem");
}

export type Signed = { key: string; certificate: string; keys: webcrypto.CryptoKeyPair };

export async function selfSigned(
  name: string,
  by: { authority?: boolean; issuer?: Signed; names?: x509.JsonGeneralNames } = {},
): Promise<Signed> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    subject: name,
    issuer: by.issuer === undefined ? name : new x509.X509Certificate(by.issuer.certificate).subject,
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
    publicKey: keys.publicKey,
    signingKey: (by.issuer?.keys ?? keys).privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(by.authority === true, undefined, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ...(by.names === undefined ? [] : [new x509.SubjectAlternativeNameExtension(by.names)]),
    ],
  });
  return { key: pemOf(keys.privateKey), certificate: certificate.toString("pem"), keys };
}
