// The certificate library resolves its dependencies by decorators and needs this import first.
import "reflect-metadata";
import {
  createECDH,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  webcrypto,
  X509Certificate,
} from "node:crypto";
import * as x509 from "@peculiar/x509";
import { invalid } from "#platform/errors.ts";
import { sha256 } from "#platform/sha256.ts";
import { texts } from "./texts.ts";

const DAY_MS = 86_400_000;
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** The subject of a certificate: a host, which is both client and server, or a server with its names. */
type CertificateHolder = {
  commonName: string;
  days: number;
  serves?: readonly string[];
  /** A member of a cluster: at this address it is a server for the other members, and it is a client of them. */
  member?: string;
};
type SignedCertificate = { pem: string; sha256: Buffer; keySha256: Buffer };
export type CertificateAuthority = {
  /** The certificates to trust for what this authority signs. Contains several during a change of authority. */
  pem: string;
  sign(csrPem: string, holder: CertificateHolder, now: Date): Promise<SignedCertificate>;
  /**
   * The authority of one cluster. It signs for the cluster's members only, which trust nobody else. What it signs is
   * followed by its own certificate of this authority, so that clients who trust this authority accept it too.
   */
  ofCluster(cluster: { name: string; secret: string; days: number }, now: Date): Promise<CertificateAuthority>;
};

/** Who signs: a key, and its certificate's name and key identifier. */
type Issuer = { key: webcrypto.CryptoKey; name: x509.Name; keyId: string | undefined };

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
  return authorityOf(caPem, {
    key: await webcrypto.subtle.importKey("pkcs8", new Uint8Array(der), algorithm, false, ["sign"]),
    // Byte for byte as in the authority's certificate: some clients find an issuer by the encoding of its name.
    name: ca.subjectName,
    keyId: ca.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId,
  });
}

const authorityOf = (pem: string, issuer: Issuer, chain = ""): CertificateAuthority => ({
  pem,
  async sign(csrPem, holder, now) {
    const request = await readRequest(csrPem);
    const certificate = await issue(issuer, `CN=${holder.commonName}`, request.publicKey, extensionsOf(holder), {
      days: holder.days,
      now,
    });
    return {
      pem: `${certificate.toString("pem")}${chain}`,
      sha256: sha256(new Uint8Array(certificate.rawData)),
      keySha256: sha256(new Uint8Array(request.publicKey.rawData)),
    };
  },
  async ofCluster({ name, secret, days }, now) {
    const { privateKey, publicKey } = await clusterKeys(secret);
    const identifier = await x509.SubjectKeyIdentifierExtension.create(publicKey);
    const extensions = [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      identifier,
    ];
    const own: Issuer = { key: privateKey, name: new x509.Name(`CN=${name}`), keyId: identifier.keyId };
    const terms = { days, now };
    const anchor = await issue(own, own.name, publicKey, extensions, terms);
    const forClients = await issue(issuer, own.name, publicKey, extensions, terms);
    return authorityOf(anchor.toString("pem"), own, `\n${forClients.toString("pem")}`);
  },
});

const issue = (
  { key, name, keyId }: Issuer,
  subject: string | x509.Name,
  publicKey: x509.PublicKeyType,
  extensions: x509.Extension[],
  { days, now }: { days: number; now: Date },
): Promise<x509.X509Certificate> =>
  x509.X509CertificateGenerator.create({
    serialNumber: randomBytes(16).toString("hex"),
    subject,
    issuer: name,
    notBefore: new Date(now.getTime() - 5 * 60_000),
    notAfter: new Date(now.getTime() + days * DAY_MS),
    publicKey,
    signingKey: key,
    signingAlgorithm: algorithm,
    extensions: [
      ...extensions,
      // Two authorities may share a name during a change of authority: clients distinguish them by the key identifier.
      ...(keyId === undefined ? [] : [new x509.AuthorityKeyIdentifierExtension(keyId)]),
    ],
  });

function extensionsOf({ serves, member }: CertificateHolder): x509.Extension[] {
  const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
  const isClient = serves === undefined || member !== undefined;
  const names: x509.JsonGeneralNames = [
    ...(serves ?? []).map((value) => ({ type: "dns" as const, value })),
    ...(member === undefined ? [] : [{ type: "ip" as const, value: member }]),
  ];
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension(isClient ? [clientAuth, serverAuth] : [serverAuth], true),
    ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
  ];
}

/** The order of the curve P-256: keys are the numbers below it. */
const curveOrder = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The same keys whenever they are needed: a cluster keeps its authority when the one above it is replaced. */
async function clusterKeys(secret: string): Promise<webcrypto.CryptoKeyPair> {
  const bits = Buffer.from(hkdfSync("sha256", secret, "", "authority of a cluster", 48)).toString("hex");
  const scalar = (BigInt(`0x${bits}`) % (curveOrder - 1n)) + 1n;
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(scalar.toString(16).padStart(64, "0"), "hex");
  const point = ecdh.getPublicKey();
  const [d, x, y] = [ecdh.getPrivateKey(), point.subarray(1, 33), point.subarray(33)].map((part) =>
    part.toString("base64url"),
  );
  const jwk = { kty: "EC", crv: "P-256", x, y } as webcrypto.JsonWebKey;
  return {
    privateKey: await webcrypto.subtle.importKey("jwk", { ...jwk, d } as webcrypto.JsonWebKey, algorithm, false, [
      "sign",
    ]),
    publicKey: await webcrypto.subtle.importKey("jwk", jwk, algorithm, true, ["verify"]),
  };
}

const certificatesIn = (pem: string): string[] =>
  pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];

async function readRequest(csrPem: string): Promise<x509.Pkcs10CertificateRequest> {
  const refused = (): never => {
    throw invalid("csr", texts.csrInvalid());
  };
  const { request, key } = await Promise.try(() => parseRequest(csrPem)).catch(refused);
  // Before the signature is verified, which takes long with a very large key.
  if (!isStrong(key)) throw invalid("csr", texts.csrKeyInvalid());
  return (await request.verify().catch(refused)) ? request : refused();
}

function parseRequest(csrPem: string) {
  const request = new x509.Pkcs10CertificateRequest(csrPem);
  const spki = Buffer.from(request.publicKey.rawData);
  return { request, key: createPublicKey({ key: spki, format: "der", type: "spki" }) };
}

function isStrong({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): boolean {
  if (type === "ec") return details.namedCurve === "prime256v1" || details.namedCurve === "secp384r1";
  const { modulusLength: bits = 0, publicExponent } = details;
  return type === "ed25519" || (type === "rsa" && bits >= 2048 && bits <= 4096 && publicExponent === 65_537n);
}
