/** What a client may register, as shown to people. */
export const REGISTRABLE =
  "an https address, an http address of 127.0.0.1, [::1] or localhost, or an app's own scheme with a dot such as com.example.app:/back; spelled as browsers do (scheme and host in lower case, no default port, no . or .. in the path), without a fragment, a user name or a wildcard";

/** Visible ASCII, without characters that end an address early or that programs interpret in two ways. */
const plain = /^[\x21-\x7e]+$/;
const refused = /[#*\\]/;
/** Stricter than a URL's host: only characters of names and addresses, because it goes into headers too. */
const host = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/;
/** An app's own scheme: a domain name in reverse. */
const ownScheme = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/;
const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::([1-9]\d{0,4}))?((?:[/?].*)?)$/;

/** https, http on a loopback address, or a scheme of the app's own (RFC 8252). */
export function isRegistrable(text: string): boolean {
  if (!plain.test(text) || refused.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return false;
  if (text.startsWith("http:")) return partsOfLoopback(text) !== undefined && isSpelledLike(url, withoutPort80(text));
  if (!isSpelledLike(url, text)) return false;
  return url.protocol === "https:" ? host.test(url.hostname) : ownScheme.test(url.protocol);
}

/** One address has one spelling, so that strings can be compared. Only the first slash of a path may be missing. */
const isSpelledLike = ({ href, origin }: URL, text: string): boolean =>
  href === text || (href.startsWith(`${origin}/`) && href === text.replace(origin, `${origin}/`));

/**
 * Must be the same string. Only the port of a loopback address is free, because an app uses whichever it gets; and a
 * client that the operator trusts may add a query.
 */
export function isSameRedirect(registered: string, given: string, mayAddQuery = false): boolean {
  if (registered === given) return true;
  if (!plain.test(given) || given.includes("#")) return false;
  const [one, other] = [withoutLoopbackPort(registered), withoutLoopbackPort(given)];
  return one === other || (mayAddQuery && isQueryAdded(one, other));
}

/** Parameters that only we add: a client that reads the first of two codes would read a foreign one. */
const ours = new Set(["code", "state", "iss", "error", "error_description", "error_uri", "access_token", "id_token"]);

const isQueryAdded = (registered: string, given: string): boolean =>
  !registered.includes("?") &&
  given.startsWith(`${registered}?`) &&
  [...new URLSearchParams(given.slice(registered.length)).keys()].every((name) => !ours.has(name));

function partsOfLoopback(text: string): { origin: string; port: string | undefined; rest: string } | undefined {
  const [whole, origin = "", port, rest = ""] = loopback.exec(text) ?? [];
  return whole === undefined || Number(port ?? 80) > 65_535 ? undefined : { origin, port, rest };
}

/** Other addresses are returned unchanged. */
function withoutLoopbackPort(text: string): string {
  const parts = partsOfLoopback(text);
  return parts === undefined ? text : parts.origin + parts.rest;
}

/** A browser omits port 80; an app that got this port may write it. */
const withoutPort80 = (text: string): string =>
  partsOfLoopback(text)?.port === "80" ? withoutLoopbackPort(text) : text;
