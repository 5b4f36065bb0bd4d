import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

const sha256 = (data: string | Buffer): Buffer => createHash("sha256").update(data).digest();
const base64url = (data: Buffer | string): string => Buffer.from(data).toString("base64url");

/** The part of CBOR that an authenticator writes: small numbers, bytes, text and maps. */
function cbor(value: number | string | Buffer | Map<number | string, unknown>): Buffer {
  const head = (major: number, length: number): Buffer => {
    if (length < 24) return Buffer.from([(major << 5) | length]);
    if (length < 256) return Buffer.from([(major << 5) | 24, length]);
    return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
  };
  if (typeof value === "number") return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === "string") return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  const pairs = [...value].flatMap(([key, inner]) => [cbor(key), cbor(inner as string)]);
  return Buffer.concat([head(5, value.size), ...pairs]);
}

type Quirks = { origin?: string; rpId?: string; verified?: boolean; counter?: number };

/** A device with one passkey, as a browser presents it. `verified`: it asked for a fingerprint or a PIN. */
export function newAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = publicKey.export({ format: "jwk" }) as { x: string; y: string };
  const id = randomBytes(32);
  let used = 0;
  let userHandle: string | undefined;

  const clientData = (type: string, challenge: string, { origin: from = origin }: Quirks): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin: from, crossOrigin: false }));
  const authData = ({ rpId, verified = true, counter }: Quirks, attested: Buffer = Buffer.alloc(0)): Buffer => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter ?? ++used);
    const flags = 0x01 | (verified ? 0x04 : 0) | (attested.length > 0 ? 0x40 : 0);
    return Buffer.concat([sha256(rpId ?? new URL(origin).hostname), Buffer.from([flags]), count, attested]);
  };
  const credential = (response: object) =>
    JSON.stringify({
      id: base64url(id),
      rawId: base64url(id),
      type: "public-key",
      clientExtensionResults: {},
      response,
    });

  return {
    create(options: { challenge: string; user: { id: string } }, quirks: Quirks = {}): string {
      userHandle = options.user.id;
      const key = new Map<number, number | Buffer>([
        ...([
          [1, 2],
          [3, -7],
          [-1, 1],
        ] as const),
        [-2, Buffer.from(jwk.x, "base64url")],
        [-3, Buffer.from(jwk.y, "base64url")],
      ]);
      const length = Buffer.from([id.length >> 8, id.length & 255]);
      const attested = Buffer.concat([Buffer.alloc(16), length, id, cbor(key)]);
      const attestation = new Map<string, unknown>([
        ["fmt", "none"],
        ["attStmt", new Map()],
        ["authData", authData(quirks, attested)],
      ]);
      return credential({
        clientDataJSON: base64url(clientData("webauthn.create", options.challenge, quirks)),
        attestationObject: base64url(cbor(attestation)),
        transports: ["internal"],
      });
    },
    get(options: { challenge: string }, quirks: Quirks = {}): string {
      const client = clientData("webauthn.get", options.challenge, quirks);
      const data = authData(quirks);
      return credential({
        clientDataJSON: base64url(client),
        authenticatorData: base64url(data),
        signature: base64url(sign("sha256", Buffer.concat([data, sha256(client)]), privateKey)),
        ...(userHandle !== undefined && { userHandle }),
      });
    },
  };
}
