import { texts } from "./texts.ts";

/**
 * Matches paths, quoted commands and the like: everything but letters, digits, punctuation and characters of table
 * names.
 */
const OTHER_MARKS = /[^\p{L}\p{N} ,.;:'`()%_-]/u;
/** Addresses, digests, internal ids, file names. */
const INTERNAL =
  /\b(?:\d{1,3}\.){3}\d{1,3}\b|[0-9a-f]{12,}|[0-9a-f]{8}-[0-9a-f]{4}|\.(?:img|sock|json|pem|key|cnf|tmp|sql)\b/i;

/**
 * A host's error message in a form that a tenant may read: without the step name, and only if it is a plain sentence.
 * The original message stays with the node, for the operator.
 */
export function forTenants(message: string | null | undefined): string {
  const sentence = (message ?? "").replace(/^[a-z][a-z-]*: (?=\S)/, "");
  const isPlain = sentence !== "" && !OTHER_MARKS.test(sentence) && !INTERNAL.test(sentence);
  return isPlain ? sentence : texts.errorHidden().text;
}
