import { operations } from "@moorage/contract";
import type { Checks } from "./checks.ts";
import { type ClientName, gaps } from "./client-gaps.ts";
import { answered, countingProxy } from "./counting-proxy.ts";
import { documentedOperations, servedDocument } from "./openapi-document.ts";

/** Every operation of the interface, by its id, in the order of the paths; a former path is one of its own. */
export const operationIds: readonly string[] = operations
  .flatMap(({ id, method, path, former }) => [
    { id, at: `${path} ${method}` },
    ...(former === undefined ? [] : [{ id: former.id, at: `${former.path} ${method}` }]),
  ])
  .sort((one, other) => (one.at < other.at ? -1 : 1))
  .map(({ id }) => id);

/** Where a client asks, and what it broke by its own code although it was answered. */
export type ClientTarget = { url: string; broken: Set<string> };

/** The other names by which clients know our operations, put back to the one that the document has. */
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

/** Runs a client through a proxy of its own, and returns the operations that worked. */
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

/** Why this client cannot do this, if it cannot. */
export const gapOf = (client: ClientName, operation: string): string | undefined =>
  gaps[client].find((gap) => gap.operations.includes(operation))?.why;

/** Each cell of the committed table is what was seen: nothing works by chance, and nothing stopped to. */
export function checkCells(client: ClientName, worked: ReadonlySet<string>, { note }: Checks): void {
  for (const id of operationIds) {
    const why = gapOf(client, id);
    if (worked.has(id) === (why === undefined)) continue;
    note(`${id} is as the table says`, false, why === undefined ? "it did not work" : `it worked, yet: ${why}`);
  }
  note(`${operationIds.length} cells of the table were looked at`, true, `${worked.size} work`);
}
