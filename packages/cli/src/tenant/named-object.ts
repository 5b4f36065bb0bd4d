import type { Client } from "@moorage/client";
import type { Operation } from "@moorage/contract";
import { Refused } from "../admin-client.ts";

type Collection = Operation & { paged: true };

/** The list in which an object can be looked up by its label, if the parameter is a number and there is one. */
export function collectionOf(
  { path, params }: Operation,
  param: string,
  operations: readonly Operation[],
): Collection | undefined {
  if (params?.shape[param]?.type !== "number") return undefined;
  const above = path.slice(0, path.indexOf(`/:${param}`));
  return operations.find(
    (candidate): candidate is Collection =>
      candidate.path === above && candidate.paged === true && candidate.filterable?.["label"] !== undefined,
  );
}

/** People say labels, the API takes numbers. A number is always taken for an id. */
export async function idOf(
  client: Client,
  collection: Collection,
  said: string,
  listCommand: string,
): Promise<string | number> {
  if (/^\d+$/.test(said)) return said;
  const { data } = (await client.call(collection, { filter: { label: said } } as never)) as { data: { id: number }[] };
  const [found] = data;
  if (found === undefined) throw new Refused(`Nothing is called ${said}. See: ${listCommand}`);
  return found.id;
}
