import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { bridgeAddress } from "./addresses.ts";
import { inStack } from "./paths.ts";
import { run } from "./run.ts";

export const keyFile = {
  tls: inStack("tls"),
  ca: inStack("tls", "ca.pem"),
  databaseCa: inStack("database-ca"),
  sealing: inStack("keys.json"),
  operatorPrivate: inStack("operator.key"),
  operatorPublic: inStack("operator.pub"),
  operatorToken: inStack("operator-token"),
  cardAdmission: inStack("card-admission-key"),
  imageServer: inStack("image-server-key"),
};

/** Created once and kept: hosts trust the CA, and records are sealed with the keys. */
export async function ensureKeys(): Promise<void> {
  if (!existsSync(keyFile.tls)) await makeTls();
  if (!existsSync(keyFile.databaseCa))
    await makeAtomically(keyFile.databaseCa, (openssl) => makeCa(openssl, "databases"));
  if (!existsSync(keyFile.sealing)) {
    const keys = { current: "k1", keys: { k1: randomBytes(32).toString("base64") } };
    await writeSecret(keyFile.sealing, JSON.stringify(keys));
  }
  if (!existsSync(keyFile.operatorToken)) await writeSecret(keyFile.operatorToken, randomBytes(32).toString("hex"));
  if (!existsSync(keyFile.cardAdmission)) await writeSecret(keyFile.cardAdmission, randomBytes(32).toString("hex"));
  if (!existsSync(keyFile.imageServer)) await writeSecret(keyFile.imageServer, randomBytes(32).toString("hex"));
  if (!existsSync(keyFile.operatorPublic)) {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    await writeSecret(keyFile.operatorPrivate, privateKey.export({ type: "pkcs8", format: "pem" }));
    await writeFile(keyFile.operatorPublic, publicKey.export({ type: "spki", format: "pem" }));
  }
}

export const operatorToken = (): string => readFileSync(keyFile.operatorToken, "utf8").trim();
export const imageServerKey = (): string => readFileSync(keyFile.imageServer, "utf8").trim();
export const cardAdmissionKey = (): string => readFileSync(keyFile.cardAdmission, "utf8").trim();
export const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex");

const writeSecret = (path: string, text: string): Promise<void> => writeFile(path, text, { mode: 0o600 });

type Openssl = (...args: string[]) => Promise<string>;
const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "3650"];

/** The folder appears with its complete content or not at all. */
async function makeAtomically(folder: string, make: (openssl: Openssl) => Promise<unknown>): Promise<void> {
  const making = `${folder}.new`;
  await mkdir(making, { recursive: true, mode: 0o700 });
  await make((...args) => run("openssl", args, { cwd: making }));
  await rename(making, folder);
}

const makeCa = (openssl: Openssl, signs: string): Promise<string> =>
  openssl(
    "req",
    "-x509",
    ...newKey,
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
    "-subj",
    `/CN=Moorage stack CA for ${signs}`,
    "-addext",
    "basicConstraints=critical,CA:TRUE",
    "-addext",
    "keyUsage=critical,keyCertSign,cRLSign",
  );

/** A CA that signs hosts' certificates, and a certificate from it for the fleet gateway. */
const makeTls = (): Promise<void> =>
  makeAtomically(keyFile.tls, async (openssl) => {
    await makeCa(openssl, "hosts");
    await openssl(
      "req",
      "-x509",
      ...newKey,
      "-keyout",
      "server.key",
      "-out",
      "server.pem",
      "-subj",
      "/CN=fleet",
      "-CA",
      "ca.pem",
      "-CAkey",
      "ca.key",
      "-addext",
      `subjectAltName=IP:${bridgeAddress},IP:127.0.0.1`,
      "-addext",
      "basicConstraints=critical,CA:FALSE",
      "-addext",
      "keyUsage=critical,digitalSignature",
      "-addext",
      "extendedKeyUsage=serverAuth",
    );
  });
