import { forTenants, type NodeRow } from "#fleet/index.ts";

/** What one of a database's nodes has reported last, if any has reported something, as the tenant may read it. */
export function reportedBy(nodes: readonly Pick<NodeRow, "observed_message">[]): string | undefined {
  const message = nodes.find(({ observed_message }) => observed_message !== null)?.observed_message;
  return message === undefined ? undefined : forTenants(message);
}
