import { isDeepStrictEqual } from "node:util";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Db, Tx } from "#platform/db/database.ts";
import type { DesiredNode } from "#platform/db/tables.ts";
import { lockHosts, raiseRevision, readInstallation } from "./host-store.ts";
import { lockNodes, type NodeRow } from "./node-store.ts";
import type { PhaseSpan } from "./phase-progress.ts";

/** A spec without epoch and generation, which `setDesiredSpecs` adds. */
export type UntimedSpec = Omit<NodeSpec, "epoch" | "generation">;
export type HostsToWake = { hosts: number[] };

/**
 * `upTo`: percent of the operation that are done when the phase ends. Without it the phase does not change the
 * progress.
 */
export type Share = { upTo?: number };

/**
 * Writes the desired specs of all nodes of a phase in one transaction, with the operation that waits for them.
 * Repeatable: a phase is written once, and a second call changes nothing.
 */
export async function setDesiredSpecs(
  tx: Tx,
  operationId: number,
  phase: string,
  specs: readonly UntimedSpec[],
  { upTo }: Share = {},
): Promise<HostsToWake> {
  const before = await findPhases(tx, operationId);
  if (before.some((known) => known.phase === phase)) return { hosts: [] };

  const { epoch } = await readInstallation(tx);
  const generations: DesiredNode[] = [];
  const write = () =>
    tx
      .insertInto("desired_phases")
      .values({
        operation_id: operationId,
        phase,
        nodes: JSON.stringify(generations),
        percent_from: upTo === undefined ? null : Math.max(0, ...before.map(({ percent_to }) => percent_to ?? 0)),
        percent_to: upTo ?? null,
      })
      .execute();
  if (specs.length === 0) {
    await write();
    return { hosts: [] };
  }
  const found = await tx
    .selectFrom("nodes")
    .select("host_id")
    .where(
      "id",
      "in",
      specs.map(({ node }) => node),
    )
    .execute();
  const hosts = await lockHosts(tx, [...new Set(found.map(({ host_id }) => host_id))]);
  const nodes = await lockNodes(
    tx,
    specs.map(({ node }) => node),
  );
  const revisions = new Map<number, number>();
  for (const host of hosts) revisions.set(host.id, await raiseRevision(tx, host.id));

  for (const node of nodes) {
    const spec = specs.find((candidate) => candidate.node === node.id) as UntimedSpec;
    const timed: NodeSpec = { ...spec, epoch, generation: nextGeneration(node, epoch) };
    // Tasks of another operation continue; that operation waits for them itself.
    const tasks = spec.tasks
      ?.map(({ id }) => id)
      .filter((id) => !node.desired_spec?.tasks?.some((known) => known.id === id));
    generations.push({ node: node.id, epoch, generation: timed.generation, ...(tasks === undefined ? {} : { tasks }) });
    await tx
      .updateTable("nodes")
      .set({
        desired_spec: JSON.stringify(timed),
        desired_epoch: epoch,
        desired_generation: timed.generation,
        desired_revision: revisions.get(node.host_id) as number,
        tombstoned: spec.tombstone !== undefined,
        waiting_operation_id: operationId,
      })
      .where("id", "=", node.id)
      .execute();
  }
  await write();
  return { hosts: hosts.map(({ id }) => id) };
}

/** The desired specs of each phase of an operation. */
export const findPhases = (db: Db | Tx, operationId: number): Promise<(PhaseSpan & { phase: string })[]> =>
  db
    .selectFrom("desired_phases")
    .select(["phase", "nodes", "percent_from", "percent_to"])
    .where("operation_id", "=", operationId)
    .execute();

export const nextGeneration = (node: NodeRow, epoch: number): number =>
  node.desired_epoch === epoch ? node.desired_generation + 1 : 1;

/** From now on reports of these nodes signal the operation, even before it sets their desired specs. */
export const setWaitingOperation = (
  tx: Tx,
  operationId: number,
  nodes: readonly Pick<NodeRow, "id">[],
): Promise<unknown> =>
  tx
    .updateTable("nodes")
    .set({ waiting_operation_id: operationId })
    .where(
      "id",
      "in",
      nodes.map(({ id }) => id),
    )
    .execute();

/**
 * Changes part of the desired state of nodes without an operation that waits for it. The rest of the spec stays, and
 * operations that wait for an earlier generation accept the later one. Skips nodes that need no change, are lost or
 * have a tombstone.
 */
export async function amendDesired(
  tx: Tx,
  nodes: readonly Pick<NodeRow, "id" | "host_id">[],
  change: (spec: NodeSpec) => NodeSpec,
): Promise<HostsToWake> {
  if (nodes.length === 0) return { hosts: [] };
  await lockHosts(tx, [...new Set(nodes.map(({ host_id }) => host_id))]);
  const hosts = new Set<number>();
  for (const node of await lockNodes(
    tx,
    nodes.map(({ id }) => id),
  )) {
    if (node.desired_spec === null || node.tombstoned) continue;
    const changed = change(node.desired_spec);
    if (isDeepStrictEqual(changed, node.desired_spec)) continue;
    const generation = node.desired_generation + 1;
    await tx
      .updateTable("nodes")
      .set({
        desired_spec: JSON.stringify({ ...changed, generation }),
        desired_generation: generation,
        desired_revision: await raiseRevision(tx, node.host_id),
        tombstoned: changed.tombstone !== undefined,
      })
      .where("id", "=", node.id)
      .execute();
    hosts.add(node.host_id);
  }
  return { hosts: [...hosts] };
}
