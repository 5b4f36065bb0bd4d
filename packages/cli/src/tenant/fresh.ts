import type { Client } from "@moorage/client";
import type { Operation } from "@moorage/contract";

type Params = Readonly<Record<string, unknown>>;

/** Reads the created or changed object again after its event: the operation's reply shows an earlier state. */
export async function freshOf(
  client: Client,
  operation: Operation,
  operations: readonly Operation[],
  { params, body }: { params: Params; body?: object },
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
  const named = made === undefined ? undefined : await newestCalled(client, operation, operations, params, body);
  if (named !== undefined) return named;
  const above = operation.path.replace(/\/[^/:]+$/, "");
  const changed = views.find(({ path }) => path === operation.path) ?? views.find(({ path }) => path === above);
  return changed === undefined ? reply : client.call(changed, { params } as never);
}

const paramAtEnd = ({ path }: Operation): string => path.slice(path.lastIndexOf(":") + 1);

/** For a reply without an id: finds the created object by its label. */
async function newestCalled(
  client: Client,
  { path }: Operation,
  operations: readonly Operation[],
  params: Params,
  body: object = {},
): Promise<unknown> {
  const list = operations.find((each) => each.path === path && each.paged === true);
  if (list === undefined || !("label" in body)) return undefined;
  const found: { id: number; label: string }[] = [];
  for await (const item of client.items(list as never, { params } as never)) found.push(item);
  return found.filter(({ label }) => label === body.label).sort((one, other) => other.id - one.id)[0];
}
