import type { NodeSpec } from "@moorage/contract/agent";
import type { NodeRow, UntimedSpec } from "#fleet/index.ts";
import type { Plan } from "#regions/index.ts";
import { isCluster } from "../model/database.ts";
import type { DatabaseRow } from "../model/database-store.ts";

/**
 * The properties that change one node at a time. The database's row has the desired ones; each node keeps its own until
 * it is changed.
 */
type Version = { plan: string; image: string };

export const versionOf = (database: DatabaseRow, newest: { image: string }): Version => ({
  plan: database.plan,
  image: database.image ?? newest.image,
});

export const hasVersion = (spec: Pick<NodeSpec, "database" | "engine"> | null, { plan, image }: Version): boolean =>
  spec !== null && spec.database.plan === plan && spec.engine.image === image;

/** Other changes meanwhile restart a member with the size and image that it has. */
export const withOwnVersion = (spec: UntimedSpec, { desired_spec }: Pick<NodeRow, "desired_spec">): UntimedSpec =>
  desired_spec === null
    ? spec
    : {
        ...spec,
        database: { ...spec.database, plan: desired_spec.database.plan },
        engine: { ...spec.engine, image: desired_spec.engine.image },
        resources: desired_spec.resources,
      };

/** The number of nodes that differ from the row: none, except after a change that stopped in the middle. */
export const unlike = (
  database: DatabaseRow,
  newest: { image: string },
  nodes: readonly Pick<NodeRow, "desired_spec">[],
): number =>
  isCluster(database)
    ? nodes.filter(
        ({ desired_spec }) => desired_spec !== null && !hasVersion(desired_spec, versionOf(database, newest)),
      ).length
    : 0;

/** The room that a node has on its host: its own size, whatever the row's plan is. */
export const sizeOf = (
  { desired_spec }: Pick<NodeRow, "desired_spec">,
  plan: Plan,
): { memory_mb: number; disk_mb: number } => (desired_spec === null ? plan : desired_spec.resources);
