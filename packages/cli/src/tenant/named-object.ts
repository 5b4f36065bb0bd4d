import type { Client } from "@moorage/client";
import type { Operation } from "@moorage/contract";
import type { z } from "zod";
import { Refused } from "../refused.ts";
import { fieldNames } from "./tables.ts";
import { texts } from "./texts.ts";

type Collection = Operation & { paged: true };

/**
 * The list in which an object can be looked up by label, if the parameter is numeric and the list's items have labels.
 */
export function collectionOf(
  { path, params }: Operation,
  param: string,
  operations: readonly Operation[],
): Collection | undefined {
  const field = params?.shape[param] as z.ZodType | undefined;
  // The field accepts numbers only, however the contract parses it.
  if (field === undefined || !field.safeParse("1").success || field.safeParse("x").success) return undefined;
  const above = path.slice(0, path.indexOf(`/:${param}`));
  return operations.find(
    (candidate): candidate is Collection =>
      candidate.path === above && candidate.paged === true && fieldNames(candidate).includes("label"),
  );
}

/** People use labels, the API uses ids. A number is always read as an id. */
export async function idOf(
  client: Client,
  collection: Collection,
  labelOrId: string,
  /** `params`: those of the list's path. */
  { listCommand, params = {} }: { listCommand: string; params?: Readonly<Record<string, unknown>> },
): Promise<string | number> {
  if (/^\d+$/.test(labelOrId)) return labelOrId;
  const filter = collection.filterable?.["label"] === undefined ? {} : { filter: { label: labelOrId } };
  const ids: number[] = [];
  for await (const item of client.items(collection, { params, ...filter } as never)) {
    const { id, label } = item as { id: number; label: string };
    if (label === labelOrId) ids.push(id);
  }
  const [found] = ids;
  if (found === undefined) throw new Refused(texts.labelUnknown({ label: labelOrId, listCommand }));
  if (ids.length > 1) throw new Refused(texts.labelAmbiguous({ label: labelOrId, ids }));
  return found;
}
