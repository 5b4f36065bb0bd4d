import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { NodeSpec } from "@moorage/contract/agent";
import { renameDurably, writeDurably } from "../base/durable-file.ts";
import type { NodePaths } from "../base/host-paths.ts";
import type { HostRecordFile } from "../specs/host-record.ts";
import { ageTrash, type TrashRules } from "../specs/trash-age.ts";
import { exists } from "./volume.ts";

const stampLength = new Date(0).toISOString().length;

/** Keeps a deleted volume for its retention time, with its keys and last spec: enough for an undelete. */
export async function moveToTrash(
  trash: string,
  { image, keyring }: Pick<NodePaths, "image" | "keyring">,
  spec: NodeSpec,
  now: Date,
): Promise<void> {
  const volume = basename(image, ".img");
  const folder = join(trash, (await begunFolder(trash, volume)) ?? `${now.toISOString()}-${volume}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeDurably(join(folder, "spec.json"), JSON.stringify(spec));
  if (await exists(keyring)) await renameDurably(keyring, join(folder, "keyring"));
  await renameDurably(image, join(folder, "volume.img"));
}

/** A folder left by a crash before the move. One with a volume is an earlier deletion's and is never overwritten. */
async function begunFolder(trash: string, volume: string): Promise<string | undefined> {
  for (const name of await readdir(trash)) {
    if (name.slice(stampLength) === `-${volume}` && !(await exists(join(trash, name, "volume.img")))) return name;
  }
  return undefined;
}

/** Counted on the disk before they are removed. */
export async function purgeTrash(
  trash: string,
  record: HostRecordFile,
  seen: { now: Date; isHeld: boolean },
  rules: TrashRules,
): Promise<string[]> {
  const names = (await readdir(trash)).filter(isEntry);
  let due: string[] = [];
  await record.update((before) => {
    const after = ageTrash(before.trash, { ...seen, names }, rules);
    due = after.due;
    return { ...before, trash: after.age };
  });
  for (const name of due) await rm(join(trash, name), { recursive: true, force: true });
  return due;
}

export async function trashMb(trash: string): Promise<number> {
  const sizes = await Promise.all(
    (await readdir(trash)).map((name) => stat(join(trash, name, "volume.img")).catch(() => undefined)),
  );
  return Math.ceil(sizes.reduce((sum, file) => sum + (file?.blocks ?? 0) * 512, 0) / (1024 * 1024));
}

const isEntry = (name: string): boolean => !Number.isNaN(Date.parse(name.slice(0, stampLength)));
