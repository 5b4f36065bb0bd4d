import { execFile } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { hostOf } from "../../tools/stack/hosts.ts";
import { env } from "./stack-env.ts";

const run = promisify(execFile);

/** What really exists on a simulated host, read from podman, the kernel and its disk, not from its agent. */
export const hostDir = (n: number): string => join(env("MOORAGE_STACK_DIR"), "hosts", String(n));
export const hostNumbers = (): number[] =>
  Array.from({ length: Number(env("MOORAGE_HOSTS")) }, (_, index) => index + 1);

export type Container = { node: string; running: boolean };

async function podman<T>(n: number, path: string): Promise<T> {
  const { stdout } = await run("curl", ["-s", "--unix-socket", join(hostDir(n), "podman.sock"), `http://d${path}`]);
  return JSON.parse(stdout) as T;
}

type Listed = { Names: string[]; Labels: Record<string, string>; State: string };
const listed = (n: number): Promise<Listed[]> => podman<Listed[]>(n, "/containers/json?all=true");
/** Temporary servers of restores and verifications. */
const isThrowAway = ({ Names }: Listed): boolean => Names.some((name) => /moorage-(restore|verify)/.test(name));

export async function containers(n: number): Promise<Container[]> {
  return (await listed(n))
    .filter((container) => !isThrowAway(container))
    .map(({ Labels, State }) => ({ node: Labels["moorage.node"] ?? "unknown", running: State === "running" }));
}

export const throwAwayContainers = async (n: number): Promise<string[]> =>
  (await listed(n)).filter(isThrowAway).flatMap(({ Names }) => Names);

export type Inspected = {
  State: { Pid: number };
  HostConfig: { ReadonlyRootfs: boolean; Memory: number; NanoCpus: number };
};

/** The container of a node, as podman reports it. */
export const inspect = async (n: number, node: string): Promise<Inspected> => {
  const filter = encodeURIComponent(JSON.stringify({ label: [`moorage.node=${node}`] }));
  const [found] = await podman<{ Id: string }[]>(n, `/containers/json?all=true&filters=${filter}`);
  if (found === undefined) throw new Error(`Host ${n} has no container of node ${node}.`);
  return podman<Inspected>(n, `/containers/${found.Id}/json`);
};

const NODE_ID = 36;
const filesIn = (n: number, folder: string): Promise<string[]> => readdir(join(hostDir(n), folder)).catch(() => []);
export const volumes = async (n: number): Promise<string[]> =>
  (await filesIn(n, "volumes")).map((name) => name.slice(0, NODE_ID));
/** Working folders of copies and restores. A node's empty folder does not count. */
export async function scratch(n: number): Promise<string[]> {
  const folders = await Promise.all(
    ["scratch", "restore", "verify"].map((name) =>
      readdir(join(hostDir(n), name), { recursive: true, withFileTypes: true }).catch(() => []),
    ),
  );
  return folders.flat().flatMap((entry) => (entry.isDirectory() ? [] : [join(entry.parentPath, entry.name)]));
}
export const specs = async (n: number): Promise<string[]> =>
  (await filesIn(n, "specs")).map((name) => name.replace(/\.json$/, ""));
export const trash = (n: number): Promise<string[]> => filesIn(n, "trash");

/** Empties the trash of all hosts: deleted volumes stay there for days, and hundreds of trials would fill the disk. */
export async function emptyTrash(): Promise<void> {
  for (const n of hostNumbers())
    for (const name of await trash(n)) await rm(join(hostDir(n), "trash", name), { recursive: true, force: true });
}
export const nodeFolders = (n: number): Promise<string[]> => filesIn(n, "nodes");

/** Of all stacks and tests on the machine. */
export const nodeNamespaces = async (): Promise<string[]> =>
  (await readdir("/run/netns").catch(() => [])).filter((name) => name.startsWith("moor-n-"));

export async function mounts(n: number): Promise<string[]> {
  const { stdout } = await run("findmnt", ["-rno", "TARGET"]);
  return stdout
    .split("\n")
    .filter((target) => target.startsWith(join(hostDir(n), "nodes")) && target.endsWith("/volume"));
}

/** Files that the agent wrote, without the databases' volumes and podman's store. */
export async function filesWith(n: number, text: string): Promise<string[]> {
  const { stdout } = await run("grep", [
    "-rlF",
    "--exclude-dir=volume",
    "--exclude-dir=volumes",
    "--exclude-dir=podman",
    "-D",
    "skip",
    "--",
    text,
    hostDir(n),
  ]).catch((error: { code?: number }) => (error.code === 1 ? { stdout: "" } : Promise.reject(error)));
  return stdout.split("\n").filter(Boolean);
}

/** The sources that the kernel admits, as ranges, by node port. */
export async function firewallSources(n: number): Promise<Map<number, string[]>> {
  const { stdout } = await run("ip", [
    "netns",
    "exec",
    hostOf(n).namespace,
    "nft",
    "-j",
    "list",
    "table",
    "inet",
    "moorage",
  ]);
  const { nftables } = JSON.parse(stdout) as { nftables: { set?: { name: string; elem?: Element[] } }[] };
  const found = new Map<number, string[]>();
  for (const { set } of nftables) {
    const port = Number(/^v[46]_(\d+)$/.exec(set?.name ?? "")?.[1]);
    if (set !== undefined && port > 0) found.set(port, [...(found.get(port) ?? []), ...(set.elem ?? []).map(rangeOf)]);
  }
  return found;
}
type Element = string | { prefix: { addr: string; len: number } };
const rangeOf = (element: Element): string =>
  typeof element === "string"
    ? `${element}/${element.includes(":") ? 128 : 32}`
    : `${element.prefix.addr}/${element.prefix.len}`;

/** The space that is used on a node's volume, in GB. */
export async function du(n: number, node: string): Promise<number> {
  const { stdout } = await run("du", ["-sm", join(hostDir(n), "nodes", node, "volume")]);
  return Number(stdout.split("\t")[0]) / 1024;
}
