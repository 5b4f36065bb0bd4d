import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { env } from "./stack-env.ts";

const run = promisify(execFile);

/** What is really on a simulated host, asked of podman, the kernel and its disk, not of its agent. */
export const hostDir = (n: number): string => join(env("MOORAGE_STACK"), "hosts", String(n));
export const hostNumbers = (): number[] =>
  Array.from({ length: Number(env("MOORAGE_HOSTS")) }, (_, index) => index + 1);

export type Container = { node: string; running: boolean };

export async function containers(n: number): Promise<Container[]> {
  const reply = await run("curl", [
    "-s",
    "--unix-socket",
    join(hostDir(n), "podman.sock"),
    "http://d/containers/json?all=true",
  ]);
  const found = JSON.parse(reply.stdout) as { Labels: Record<string, string>; State: string }[];
  return found.map(({ Labels, State }) => ({
    node: Labels["moorage.node"] ?? "unknown",
    running: State === "running",
  }));
}

const filesIn = (n: number, folder: string): Promise<string[]> => readdir(join(hostDir(n), folder)).catch(() => []);
export const volumes = async (n: number): Promise<string[]> =>
  (await filesIn(n, "volumes")).map((name) => name.replace(/\.img$/, ""));
export const specs = async (n: number): Promise<string[]> =>
  (await filesIn(n, "specs")).map((name) => name.replace(/\.json$/, ""));
export const trash = (n: number): Promise<string[]> => filesIn(n, "trash");
export const nodeFolders = (n: number): Promise<string[]> => filesIn(n, "nodes");

export const nodeNamespaces = async (): Promise<string[]> =>
  (await readdir("/run/netns").catch(() => [])).filter((name) => name.startsWith("moor-n-"));

export async function mounts(n: number): Promise<string[]> {
  const { stdout } = await run("findmnt", ["-rno", "TARGET"]);
  return stdout.split("\n").filter((target) => target.startsWith(join(hostDir(n), "nodes")));
}
