import type { DiskState } from "@moorage/contract/agent";
import { imageMb, reserveMb } from "../node/volume.ts";

export type DiskFacts = {
  planMb: number;
  usedMb: number;
  /** Free space of the file system, the reserve included. */
  freeMb: number;
  totalMb: number;
  /** Undefined while it does not answer. `isPrimary`: its group opened it, so only the agent can have closed it. */
  server: { readOnly: boolean; groupMember: boolean; isPrimary?: boolean } | undefined;
};

export type DiskDecision = {
  state: DiskState;
  /**
   * `close`: make it read-only. `open`: make it writable again. `hand over`: make another member the primary, because
   * only the group may make a member writable, and it does so for its primary.
   */
  server: "leave" | "close" | "open" | "hand over";
  /** The reserve is nearly used up: the file system must grow before a server has to wait for space. */
  grow: boolean;
};

// Parts of the plan's disk.
const lowAt = 0.9;
const readOnlyAt = 0.98;
const writableBelow = 0.95;

/** The only rule by which disk usage makes a server read-only, or writable again. */
export function diskDecision({ planMb, usedMb, freeMb, totalMb, server }: DiskFacts): DiskDecision {
  // A volume that has not grown to its new plan yet is full at its old size.
  const roomMb = Math.min(planMb, totalMb - neverThePlansMb);
  // A secondary of a group is always read-only, whatever its disk.
  const closedByUs = server?.readOnly === true && (!server.groupMember || server.isPrimary === true);
  const full = usedMb >= roomMb * readOnlyAt || (closedByUs && usedMb >= roomMb * writableBelow);
  const again = server?.groupMember === true ? "hand over" : "open";
  const change = full && server?.readOnly === false ? "close" : !full && closedByUs ? again : "leave";
  const state = full ? "read_only" : usedMb >= roomMb * lowAt ? "low" : "ok";
  return { state, server: change, grow: freeMb < emergencyMb(planMb) };
}

/** The smallest reserve (256 MB) without the 64 MB of the file system's log. */
const neverThePlansMb = 192;

/** The volume grows when less than this is free. XFS keeps 32 MB back for itself. */
export const emergencyMb = (planMb: number): number => Math.max(96, reserveMb(planMb) / 4);

/** How far a volume may grow by itself. A server that still writes beyond this must not take the host's disk. */
export const emergencyLimitMb = (planMb: number): number => imageMb(planMb) + Math.max(2048, Math.ceil(planMb / 4));

/** An upper bound: no known disk is written faster. */
const fastestMbPerMs = 1;

/** Often enough that a writer cannot use up half of the free space before the next check. */
export const checkAgainMs = (freeMb: number, state: DiskState): number =>
  state === "read_only" ? 500 : Math.min(Math.max(100, freeMb / 2 / fastestMbPerMs), 5000);
