/** Paths, quoted commands and the like: everything but letters, digits and the marks of a sentence or a table's name. */
const OTHER_MARKS = /[^\p{L}\p{N} ,.;:'`()%_-]/u;
/** Addresses, digests, ids of the installation, names of files. */
const INTERNAL =
  /\b(?:\d{1,3}\.){3}\d{1,3}\b|[0-9a-f]{12,}|[0-9a-f]{8}-[0-9a-f]{4}|\.(?:img|sock|json|pem|key|cnf|tmp|sql)\b/i;

/**
 * What a host said of its trouble, as its tenant may read it: without the name of the step, and only if it is a plain
 * sentence. The words themselves stay with the node, for the operator.
 */
export function forTenants(message: string | null | undefined): string {
  const sentence = (message ?? "").replace(/^[a-z][a-z-]*: (?=\S)/, "");
  const isPlain = sentence !== "" && !OTHER_MARKS.test(sentence) && !INTERNAL.test(sentence);
  return isPlain ? sentence : "The host could not do it. The operator can see why.";
}
