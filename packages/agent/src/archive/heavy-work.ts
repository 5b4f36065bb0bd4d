import { randomUUID } from "node:crypto";
import type { NodeSpec } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import type { Logger } from "pino";
import {
  type ArchivedNode,
  beginArchive,
  isOnItsTimeline,
  readArchiveState,
  updateArchiveState,
} from "./archived-node.ts";
import { type CopyFacts, dueWork, type Work } from "./due-work.ts";

export type HeavyDeps = {
  /** Archived nodes whose server should run. */
  nodes: () => ArchivedNode[];
  copy: (node: ArchivedNode, order: { id: string }) => Promise<void>;
  verify: (node: ArchivedNode) => Promise<void>;
  verifyIsDue: (spec: NodeSpec) => Promise<boolean>;
  /** The host's limit of one heavy work at a time, shared with captures of disks. */
  oneAtATime: <T>(key: string, work: () => Promise<T>) => Promise<T>;
  clock: () => Date;
  log: Logger;
};

const againMs = { first: 60_000, last: 3_600_000 };

/** Nightly copies and verifications, one at a time per host. */
export function createHeavyWork(deps: HeavyDeps) {
  const failures = new Map<string, { count: number; notBefore: Date }>();
  const keyOf = ({ kind, node }: Work): string => `${kind} ${node}`;

  async function factsOf(node: ArchivedNode): Promise<CopyFacts> {
    const id = node.spec.node;
    const { since, newest_copy } = await beginArchive(node, deps.clock());
    const notBefore = failures.get(keyOf({ kind: "copy", node: id }))?.notBefore;
    const verifyAfter = failures.get(keyOf({ kind: "verify", node: id }))?.notBefore;
    const mayVerify = verifyAfter === undefined || verifyAfter <= deps.clock();
    return {
      node: id,
      hours: node.archive.copy_hours,
      origin: node.data.origin,
      since: new Date(since),
      ...(newest_copy !== undefined && { newestCopy: new Date(newest_copy) }),
      ...(notBefore && { notBefore }),
      verify: mayVerify && (await deps.verifyIsDue(node.spec)),
    };
  }

  /** Reuses the id of a failed try, if there was one, to overwrite the objects that it left in the store. */
  async function nightlyCopy(node: ArchivedNode): Promise<void> {
    const { copying } = await readArchiveState(node, deps.clock());
    const id = copying ?? randomUUID();
    await step("agent.copy.begin", () => updateArchiveState(node, deps.clock(), () => ({ copying: id })));
    await deps.copy(node, { id });
  }

  async function attempt(work: Work, node: ArchivedNode): Promise<void> {
    const key = keyOf(work);
    try {
      if (work.kind === "copy") await nightlyCopy(node);
      else await deps.verify(node);
      failures.delete(key);
    } catch (error) {
      const count = (failures.get(key)?.count ?? 0) + 1;
      const delay = Math.min(againMs.first * 2 ** (count - 1), againMs.last);
      failures.set(key, { count, notBefore: new Date(deps.clock().getTime() + delay) });
      deps.log.warn({ ...work, error: String(error), againInMs: delay }, "a copy or verification failed");
    }
  }

  return {
    /** Runs the most urgent due work; false if nothing is due. */
    async next(): Promise<boolean> {
      const ready: ArchivedNode[] = [];
      for (const node of deps.nodes()) if (await isOnItsTimeline(node)) ready.push(node);
      const [work] = dueWork(deps.clock(), await Promise.all(ready.map(factsOf)));
      const node = ready.find(({ spec }) => spec.node === work?.node);
      if (work === undefined || node === undefined) return false;
      await deps.oneAtATime(keyOf(work), () => attempt(work, node));
      return true;
    },
  };
}
