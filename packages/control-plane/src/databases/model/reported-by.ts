import { forTenants, type NodeRow } from "#fleet/index.ts";

/** The last message of one of a database's nodes, if any, as the tenant may read it. */
export function reportedBy(nodes: readonly Pick<NodeRow, "observed_message">[]): string | undefined {
  const message = nodes.find(({ observed_message }) => observed_message !== null)?.observed_message;
  return message === undefined ? undefined : forTenants(message);
}
