import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PrimaryChange } from "@moorage/contract/agent";
import { readIfThere, removeDurably, writeDurably } from "../base/durable-file.ts";
import type { HostPaths } from "../base/host-paths.ts";
import type { Note } from "./note-change.ts";

const mostAtOnce = 100;
const fileOf = (host: HostPaths, { view, to }: PrimaryChange): string =>
  join(host.gatekeeper.changes, `${encodeURIComponent(view)}-${to}.json`);

/** Written once by the gatekeeper; the agent reports it until it is acknowledged, then removes it. */
export const writeChange = (host: HostPaths, change: PrimaryChange): Promise<void> =>
  writeDurably(fileOf(host, change), JSON.stringify(change));

/** Skips a file that cannot be read and leaves it to a person: it must not block other changes or reports. */
export async function readChanges(host: HostPaths): Promise<PrimaryChange[]> {
  const names = (await readdir(host.gatekeeper.changes)).filter((name) => name.endsWith(".json")).slice(0, mostAtOnce);
  const read = await Promise.all(
    names.map((name) => readChange(join(host.gatekeeper.changes, name)).catch(() => undefined)),
  );
  return read.filter((change) => change !== undefined);
}

const readChange = async (path: string): Promise<PrimaryChange> =>
  PrimaryChange.parse(JSON.parse(await readFile(path, "utf8")));

export async function removeChanges(host: HostPaths, changes: readonly PrimaryChange[]): Promise<void> {
  for (const change of changes) await removeDurably(fileOf(host, change));
}

type LastPrimary = Pick<Note, "group" | "primary" | "view" | "changes">;
const lastPrimaryFile = (host: HostPaths, node: string): string => join(host.gatekeeper.lastPrimary, `${node}.json`);

/** Lets a restarted gatekeeper recognise a change that it did not see. */
export async function readLastPrimary(host: HostPaths, node: string): Promise<Note | undefined> {
  const text = await readIfThere(lastPrimaryFile(host, node));
  return text === undefined ? undefined : (JSON.parse(text) as LastPrimary);
}

export const writeLastPrimary = (
  host: HostPaths,
  node: string,
  { group, primary, view, changes }: Note,
): Promise<void> => writeDurably(lastPrimaryFile(host, node), JSON.stringify({ group, primary, view, changes }));

export const removeLastPrimary = (host: HostPaths, node: string): Promise<void> =>
  removeDurably(lastPrimaryFile(host, node));
