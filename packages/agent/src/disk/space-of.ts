import { stat, statfs } from "node:fs/promises";
import type { NodePaths } from "../host-paths.ts";
import { mb } from "./grow-volume.ts";

export type Space = { usedMb: number; freeMb: number; totalMb: number };

/** Undefined while nothing is mounted: then the mount point is on the same device as its parent. */
export async function spaceOf({ volume, folder }: Pick<NodePaths, "volume" | "folder">): Promise<Space | undefined> {
  const [inside, outside] = await Promise.all([volume, folder].map((path) => stat(path).catch(() => undefined)));
  if (inside === undefined || inside.dev === outside?.dev) return undefined;
  const { blocks, bfree, bsize } = await statfs(volume);
  return {
    usedMb: Math.ceil(((blocks - bfree) * bsize) / mb),
    freeMb: Math.floor((bfree * bsize) / mb),
    totalMb: (blocks * bsize) / mb,
  };
}
