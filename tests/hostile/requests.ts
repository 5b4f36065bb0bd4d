import type { Operation } from "@moorage/contract";
import type { Random } from "@moorage/testkit/random.ts";

/** What is sent, byte for byte, in this order; `pauseMs` between the pieces. */
export type HostileRequest = { pieces: Buffer[]; pauseMs?: number; endless?: true };

/** Texts that must never appear in a log. */
export type Secrets = { token: string; password: string };

type Maker = (operation: Operation, random: Random, secrets: Secrets) => HostileRequest;

const numbers = ["1e400", "-1e400", "9".repeat(400), "-0", "1e-400", "0.1e1", "9007199254740993", "-2147483649", "1E5"];
const ids = [
  "-1",
  "0",
  "1e3",
  "9".repeat(50),
  "9223372036854775808",
  "%31",
  "1%00",
  "１",
  "NaN",
  "0x10",
  "1;2",
  "..%2f1",
];
const prototypeKeys = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "__defineGetter__"];
const fields = [
  "label",
  "email",
  "password",
  "allow_list",
  "region",
  "type",
  "engine",
  "cluster_size",
  "usd",
  "scopes",
];

/** Each takes a valid request and breaks one thing in it. */
export const hostile: Record<string, Maker> = {
  "huge numbers": (operation, random, secrets) =>
    withJson(
      operation,
      random,
      secrets,
      `{"${random.oneOf(fields)}":${random.oneOf(numbers)},"id":${random.oneOf(numbers)}}`,
    ),
  "deep JSON": (operation, random, secrets) => {
    const depth = 10 ** (2 + random.below(4));
    const [open, close] = random.chance(0.5) ? ["[", "]"] : ['{"a":', "}"];
    const text = `{"${random.oneOf(fields)}":${open.repeat(depth)}1${random.chance(0.7) ? close.repeat(depth) : ""}}`;
    return withJson(operation, random, secrets, text.slice(0, 900_000));
  },
  "wrong encodings": (operation, random, secrets) => {
    const bytes = random.oneOf([
      Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
      Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]),
      Buffer.from('{"label":"\xc3\x28\xed\xa0\x80"}', "latin1"),
      Buffer.from('{"label":"\\ud800","email":"\\udfff"}'),
      Buffer.from("label=a&label=b"),
      Buffer.from([0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0]),
    ]);
    const type = random.oneOf([
      "application/json; charset=utf-7",
      "application/json\r\ncontent-encoding: gzip",
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "application/json",
    ]);
    return withBody(operation, random, secrets, bytes, type);
  },
  "duplicate keys": (operation, random, secrets) => {
    const key = random.oneOf(fields);
    const twice = `"${key}":"a","${key}":${random.oneOf(['"b"', "1", "null", "{}", "[]"])}`;
    return withJson(operation, random, secrets, `{${`${twice},`.repeat(1 + random.below(200))}"z":1}`);
  },
  "prototype keys": (operation, random, secrets) => {
    const key = random.oneOf(prototypeKeys);
    const text = `{"${key}":{"isAdmin":true,"${random.oneOf(prototypeKeys)}":{"x":1}},"${random.oneOf(fields)}":{"${key}":[]}}`;
    return withJson(operation, random, secrets, text, random.chance(0.5) ? text : undefined);
  },
  "null bytes": (operation, random, secrets) => {
    const nul = random.oneOf(["\\u0000", "a\\u0000b", "\0"]);
    const filter = `{"${random.oneOf(fields)}":"a\\u0000"}`;
    return withJson(operation, random, secrets, `{"${random.oneOf(fields)}":"${nul}"}`, filter);
  },
  "header bombs": (operation, random, secrets) => {
    const bomb = random.oneOf([
      () => Array.from({ length: 50 + random.below(3000) }, (_, n) => `x-h${n}: ${n}`).join("\r\n"),
      () => `x-filter: ${"{".repeat(1 + random.below(60_000))}`,
      () => `cookie: ${"a=b; ".repeat(1 + random.below(20_000))}`,
      () => "transfer-encoding: chunked\r\ntransfer-encoding: identity",
      () => "content-length: 5\r\ncontent-length: 6",
      () => `x-request-id: ${secrets.password}\x01\x02`,
      () => `idempotency-key: ${"k".repeat(1 + random.below(5000))}`,
      () => `range: bytes=${"0-1,".repeat(2000)}0-1`,
      () => " folded: header",
    ])();
    return { pieces: [Buffer.from(`${lineOf(operation, random)}\r\n${headOf(secrets)}\r\n${bomb}\r\n\r\n`, "latin1")] };
  },
  "slow bodies": (operation, random, secrets) => {
    const body = `{"${random.oneOf(fields)}":"${"s".repeat(200)}","password":"${secrets.password}"}`;
    const endless = random.chance(0.01);
    const head = `${lineOf(operation, random)}\r\n${headOf(secrets)}\r\ncontent-type: application/json\r\ncontent-length: ${body.length + (endless ? 1000 : 0)}\r\n\r\n`;
    const cut = 1 + random.below(body.length - 1);
    const pieces = [head.slice(0, 40), head.slice(40), body.slice(0, cut), body.slice(cut)];
    return { pieces: pieces.map((piece) => Buffer.from(piece)), pauseMs: 60, ...(endless && { endless: true }) };
  },
};

const headOf = ({ token }: Secrets): string => `host: api.test\r\nauthorization: Bearer ${token}`;

/** Ids that do not exist: a request with an effect would change the conditions for the next ones. */
function lineOf({ method, path }: Operation, random: Random): string {
  const filled = path.replace(/:\w+/g, () => random.oneOf(ids));
  const query = random.chance(0.3)
    ? random.oneOf(["?page=1e9", "?page_size=%00", "?page=1&page=2", "?__proto__[a]=1"])
    : "";
  return `${method} ${filled}${query} HTTP/1.1`;
}

function withJson(
  operation: Operation,
  random: Random,
  secrets: Secrets,
  text: string,
  filter?: string,
): HostileRequest {
  const secret = text.startsWith('{"') ? `{"password":"${secrets.password}",${text.slice(1)}` : text;
  return withBody(operation, random, secrets, Buffer.from(secret), "application/json", filter);
}

function withBody(
  operation: Operation,
  random: Random,
  secrets: Secrets,
  body: Buffer,
  type: string,
  filter?: string,
): HostileRequest {
  const more = filter === undefined ? "" : `x-filter: ${filter}\r\n`;
  const head = `${lineOf(operation, random)}\r\n${headOf(secrets)}\r\n${more}content-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`;
  return { pieces: [Buffer.from(head, "latin1"), body] };
}
