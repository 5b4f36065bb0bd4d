import type { Client } from "@moorage/client";
import type { Operation } from "@moorage/contract";

type Params = Readonly<Record<string, unknown>>;

/** What an operation has made or changed, as it is after its event: the reply to it was from before. */
export async function freshOf(
  client: Client,
  operation: Operation,
  operations: readonly Operation[],
  params: Params,
  reply: unknown,
): Promise<unknown> {
  if (operation.method === "DELETE") return reply;
  const id = typeof reply === "object" && reply !== null && "id" in reply ? reply.id : undefined;
  const views = operations.filter(
    ({ method, paged, download }) => method === "GET" && !paged && download === undefined,
  );
  const made = views.find(
    ({ path }) => path.startsWith(`${operation.path}/:`) && !path.slice(operation.path.length + 1).includes("/"),
  );
  if (made !== undefined && id !== undefined)
    return client.call(made, { params: { ...params, [paramAtEnd(made)]: id } } as never);
  const above = operation.path.replace(/\/[^/:]+$/, "");
  const changed = views.find(({ path }) => path === operation.path) ?? views.find(({ path }) => path === above);
  return changed === undefined ? reply : client.call(changed, { params } as never);
}

const paramAtEnd = ({ path }: Operation): string => path.slice(path.lastIndexOf(":") + 1);
