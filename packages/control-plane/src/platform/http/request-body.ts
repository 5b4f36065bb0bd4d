import type { Text } from "@moorage/contract/texts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { DomainError, invalid } from "#platform/errors.ts";
import { texts } from "./texts.ts";

/** Later code walks through a body by recursion. */
const MOST_LEVELS = 100;
/** More than any valid body has: the longest list of the interface has 10,000 entries. */
const MOST_VALUES = 25_000;

export function readJsonBodies(app: FastifyInstance): void {
  // A body that names `__proto__` is refused, so that no later code has to consider it.
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (request, body, done) => {
    const text = String(body);
    // Clients send actions without a body under any content type.
    if (text === "") return done(null, undefined);
    if (!/^application\/json\b/i.test(request.headers["content-type"] ?? "application/json"))
      return done(new DomainError("invalid", { reason: texts.contentTypeNotJson() }));
    void parse(request, text, (error, value) => {
      if (error !== null) done(new DomainError("invalid", { reason: notJson(text) }));
      else {
        const reason = whyTooMuch(value);
        if (reason === undefined) done(null, value);
        else done(new DomainError("invalid", { reason }));
      }
    });
  });
}

function notJson(text: string): Text {
  const place = jsonFaultOf(text);
  return place === undefined ? texts.nameNotAllowed() : texts.notJson({ place });
}

/** A megabyte can be hundreds of thousands of values, each of which costs more to check than to send. */
function whyTooMuch(body: unknown): Text | undefined {
  let level = [body];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) return texts.bodyTooDeep({ levels: MOST_LEVELS });
    values += level.length;
    if (values > MOST_VALUES) return texts.bodyTooManyValues({ most: MOST_VALUES });
    level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []));
  }
  return undefined;
}

/** Accepts files as bodies, unchanged. Their type is checked with the body, after the caller: see `fileOf`. */
export function readFiles(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
}

/** The uploaded file, if it has one of these types. */
export function fileOf({ headers, body }: FastifyRequest, types: readonly string[]): Buffer {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (!types.includes(type)) throw invalid("Content-Type", texts.contentTypeNotAccepted({ types }));
  return (body as Buffer | undefined) ?? Buffer.alloc(0);
}

/**
 * White space, then one token; its group names the kind. An unterminated string, or one with a forbidden character,
 * does not match.
 */
const token =
  /[\s\ufeff]*(?:(?<mark>[{}[\],:])|(?<string>"[^"\\\p{Cc}]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\p{Cc}]*)*")|(?<other>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|(?<end>$))/uy;

/** What may come next. */
type Expected = "value" | "value or ]" | "key" | "key or }" | ":" | "more" | "end";

/**
 * Where a text stops being JSON, as `line 3, column 14`; undefined if it is JSON. The parser's own messages name the
 * position only sometimes, and sometimes repeat the text.
 */
export function jsonFaultOf(text: string): string | undefined {
  const open: string[] = [];
  let expected: Expected = "value";
  token.lastIndex = 0;
  for (;;) {
    const start = token.lastIndex;
    const found = token.exec(text);
    const next: Expected | "done" | undefined = found === null ? undefined : after(found, expected, open);
    if (next === undefined) return placeOf(text, found === null ? start : token.lastIndex - tokenOf(found).length);
    if (next === "done") return undefined;
    expected = next;
  }
}

/** What may follow a token; undefined if the token is misplaced. `open` holds the ends of the brackets around it. */
function after({ groups }: RegExpExecArray, expected: Expected, open: string[]): Expected | "done" | undefined {
  const { mark, string, other } = groups ?? {};
  if (mark === undefined && string === undefined && other === undefined) return expected === "end" ? "done" : undefined;
  if (mark !== undefined && mark === open.at(-1) && mayClose.includes(expected)) {
    open.pop();
    return afterValue(open);
  }
  switch (expected) {
    case "key or }":
    case "key":
      return string === undefined ? undefined : ":";
    case ":":
      return mark === ":" ? "value" : undefined;
    case "more":
      if (mark !== ",") return undefined;
      return open.at(-1) === "}" ? "key" : "value";
    case "end":
      return undefined;
    case "value":
    case "value or ]":
      return mark === undefined ? afterValue(open) : afterOpening(mark, open);
  }
}

const mayClose: readonly Expected[] = ["key or }", "value or ]", "more"];

const afterValue = (open: readonly string[]): Expected => (open.length === 0 ? "end" : "more");

function afterOpening(mark: string, open: string[]): Expected | undefined {
  if (mark !== "{" && mark !== "[") return undefined;
  open.push(mark === "{" ? "}" : "]");
  return mark === "{" ? "key or }" : "value or ]";
}

/** White space before the fault does not count as part of it. */
function placeOf(text: string, from: number): string {
  const rest = text.slice(from).search(/[^\s\ufeff]/);
  const before = text.slice(0, rest === -1 ? text.length : from + rest);
  const lines = before.split("\n");
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

const tokenOf = ({ groups }: RegExpExecArray): string =>
  groups?.["mark"] ?? groups?.["string"] ?? groups?.["other"] ?? "";
