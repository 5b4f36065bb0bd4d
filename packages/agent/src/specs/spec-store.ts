import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { NodeSpec } from "@moorage/contract/agent";
import { readIfThere, removeDurably, writeDurably } from "../base/durable-file.ts";
import type { HostPaths } from "../base/host-paths.ts";
import { type Acceptance, acceptSpec, TombstoneRecord } from "./spec-acceptance.ts";

const tombstonesKeptMs = 30 * 24 * 3_600_000;

/**
 * What this host should run, written to its own disk before anything is applied: with it a host starts every node
 * without a control plane. The copy in memory is updated after the disk.
 */
export async function openSpecStore(paths: HostPaths, clock: () => Date) {
  const specs = new Map<string, NodeSpec>();
  const tombstones = new Map<string, TombstoneRecord>();
  for (const text of await readAll(paths.specs)) remember(specs, NodeSpec.parse(JSON.parse(text)));
  for (const text of await readAll(paths.tombstones)) {
    const record = TombstoneRecord.parse(JSON.parse(text));
    if (clock().getTime() - Date.parse(record.at) < tombstonesKeptMs) tombstones.set(record.spec.node, record);
    else await removeDurably(fileOf(paths.tombstones, record.spec.node));
  }

  const known = (node: string) => ({ stored: specs.get(node), tombstone: tombstones.get(node) });

  async function putTombstone(record: TombstoneRecord): Promise<void> {
    await writeDurably(fileOf(paths.tombstones, record.spec.node), JSON.stringify(record));
    tombstones.set(record.spec.node, record);
  }

  return {
    all: (): NodeSpec[] => [...specs.values()],
    get: (node: string): NodeSpec | undefined => specs.get(node),
    tombstones: (): TombstoneRecord[] => [...tombstones.values()],

    /** Specs that an earlier version of the agent could not read: this version may be able to. */
    setAside: async (): Promise<unknown[]> =>
      (await readAll(paths.unsupported)).map((text) => JSON.parse(text) as unknown),

    async offer(raw: unknown): Promise<Acceptance> {
      const acceptance = acceptSpec(raw, known);
      if (acceptance.kind === "store") {
        const { spec } = acceptance;
        await writeDurably(fileOf(paths.specs, spec.node), JSON.stringify(spec));
        specs.set(spec.node, spec);
        await removeDurably(fileOf(paths.unsupported, spec.node));
      } else if (acceptance.kind === "gone") {
        await putTombstone(acceptance.record);
      } else if (acceptance.kind === "unsupported") {
        await writeDurably(fileOf(paths.unsupported, acceptance.envelope.node), JSON.stringify(raw));
      }
      return acceptance;
    },

    /** Writes the record before the spec is removed: after a crash in between, the deletion is only repeated. */
    async bury(spec: NodeSpec, operation: number): Promise<void> {
      const { epoch, generation } = spec;
      await putTombstone({ operation, epoch, generation, at: clock().toISOString(), spec });
    },
    async forget(node: string): Promise<void> {
      await removeDurably(fileOf(paths.specs, node));
      specs.delete(node);
    },
  };
}
export type SpecStore = Awaited<ReturnType<typeof openSpecStore>>;

const fileOf = (folder: string, node: string): string => join(folder, `${node}.json`);
const remember = (specs: Map<string, NodeSpec>, spec: NodeSpec) => specs.set(spec.node, spec);

async function readAll(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".json"));
  const texts = await Promise.all(files.map((name) => readIfThere(join(folder, name))));
  return texts.filter((text) => text !== undefined);
}
