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

const tokenOf = ({ groups }: RegExpExecArray): string =>
  groups?.["mark"] ?? groups?.["string"] ?? groups?.["other"] ?? "";

/** What may follow a token; undefined if the token is misplaced. `open` holds the brackets around it. */
function after({ groups }: RegExpExecArray, expected: Expected, open: string[]): Expected | "done" | undefined {
  const { mark, string, other } = groups ?? {};
  const ended = (): Expected => (open.length === 0 ? "end" : "more");
  const closed = (): Expected => {
    open.pop();
    return ended();
  };
  if (mark === undefined && string === undefined && other === undefined) return expected === "end" ? "done" : undefined;
  switch (expected) {
    case "key or }":
      if (mark === "}") return closed();
      return string === undefined ? undefined : ":";
    case "key":
      return string === undefined ? undefined : ":";
    case ":":
      return mark === ":" ? "value" : undefined;
    case "more":
      if (mark === open.at(-1)) return closed();
      return mark === "," ? (open.at(-1) === "}" ? "key" : "value") : undefined;
    case "end":
      return undefined;
    case "value":
    case "value or ]":
      if (mark === "]" && expected === "value or ]") return closed();
      if (mark === "{" || mark === "[") {
        open.push(mark === "{" ? "}" : "]");
        return mark === "{" ? "key or }" : "value or ]";
      }
      return mark === undefined ? ended() : undefined;
  }
}

/** White space before the fault does not count as part of it. */
function placeOf(text: string, from: number): string {
  const rest = text.slice(from).search(/[^\s\ufeff]/);
  const before = text.slice(0, rest === -1 ? text.length : from + rest);
  const lines = before.split("\n");
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}
