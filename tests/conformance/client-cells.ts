import { operations } from "@moorage/contract";
import type { Checks } from "./checks.ts";
import { type ClientName, gaps } from "./client-gaps.ts";
import { answered, countingProxy } from "./counting-proxy.ts";
import { documentedOperations, servedDocument } from "./openapi-document.ts";

/**
 * Every operation of the interface, by its id, in the order of the paths; a former path counts as a separate operation.
 */
export const operationIds: readonly string[] = operations
  .flatMap(({ id, method, path, former }) => [
    { id, at: `${path} ${method}` },
    ...(former === undefined ? [] : [{ id: former.id, at: `${former.path} ${method}` }]),
  ])
  .sort((one, other) => (one.at < other.at ? -1 : 1))
  .map(({ id }) => id);

/** The URL that a client uses, and the operations that its own code breaks although they were answered. */
export type ClientTarget = { url: string; broken: Set<string> };

/** Maps other paths that clients use for our operations to the path in the document. */
export function canonical(method: string, path: string): string {
  const plain = path
    .replaceAll(/\/{2,}/g, "/")
    .replace(/^\/v4beta\//, "/v4/")
    .replace(/^\/v4\/linode\//, "/v4/compute/")
    .replace(/\/reset_secret$/, "/reset-secret")
    .replace(/^\/v4\/account\/payment-method\//, "/v4/account/payment-methods/")
    .replace(/^(\/v4\/images\/(?:private|operator))\//, "$1%2F")
    .replace(/^(\/v4\/databases\/engines\/[^/]+)\//, "$1%2F");
  return method === "POST" && /^\/v4\/account\/payment-methods\/\d+$/.test(plain) ? `${plain}/make-default` : plain;
}

/** Runs a client through a separate proxy, and returns the operations that worked. */
export async function worksFor(client: (target: ClientTarget) => Promise<void>): Promise<Set<string>> {
  const documented = (await documentedOperations(servedDocument())).map(({ id, matches }) => ({
    id,
    matches: (method: string, path: string) => matches(method, canonical(method, path)),
  }));
  await using proxy = await countingProxy(documented);
  const broken = new Set<string>();
  await client({ url: proxy.url, broken });
  return new Set(
    [...proxy.counts].flatMap(([id, count]) => (answered(count, 200, 299) > 0 && !broken.has(id) ? [id] : [])),
  );
}

/** The reason why this client cannot use this operation, if there is one. */
export const gapOf = (client: ClientName, operation: string): string | undefined =>
  gaps[client].find((gap) => gap.operations.includes(operation))?.why;

/**
 * Each cell of the committed table matches the observation: nothing works unexpectedly, and nothing stopped working.
 */
export function checkCells(client: ClientName, worked: ReadonlySet<string>, { note }: Checks): void {
  for (const id of operationIds) {
    const why = gapOf(client, id);
    if (worked.has(id) === (why === undefined)) continue;
    note(`${id} is as the table says`, false, why === undefined ? "it did not work" : `it worked, yet: ${why}`);
  }
  note(`${operationIds.length} cells of the table were looked at`, true, `${worked.size} work`);
}
