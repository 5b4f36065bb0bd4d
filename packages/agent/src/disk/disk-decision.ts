import type { DiskState } from "@moorage/contract/agent";

export type DiskFacts = {
  planMb: number;
  usedMb: number;
  /** What is left of the file system, the reserve included. */
  freeMb: number;
  /** All of the file system. */
  totalMb: number;
  /** Undefined while it does not answer. `leads`: its group wants it writable, so only we can have closed it. */
  server: { readOnly: boolean; groupMember: boolean; isPrimary?: boolean } | undefined;
};

export type DiskDecision = {
  state: DiskState;
  /**
   * `close`: it takes no more writes. `open`: it takes them again. `hand over`: another member takes them, because a
   * group opens whomever it makes its primary, and nobody else may open a member.
   */
  server: "leave" | "close" | "open" | "hand over";
  /** The reserve is nearly gone: the file system must grow before a server has to wait for room. */
  grow: boolean;
};

// Parts of the plan's disk.
const lowAt = 0.9;
const readOnlyAt = 0.98;
const writableBelow = 0.95;

/** The only rule by which the disk makes a server read-only, or writable again. */
export function diskDecision({ planMb, usedMb, freeMb, totalMb, server }: DiskFacts): DiskDecision {
  // A volume that has not grown to its new plan yet is full where it was.
  const roomMb = Math.min(planMb, totalMb - neverThePlansMb);
  // Of a group's secondary read-only says nothing about its disk.
  const closedByUs = server?.readOnly === true && (!server.groupMember || server.isPrimary === true);
  const full = usedMb >= roomMb * readOnlyAt || (closedByUs && usedMb >= roomMb * writableBelow);
  const again = server?.groupMember === true ? "hand over" : "open";
  const change = full && server?.readOnly === false ? "close" : !full && closedByUs ? again : "leave";
  const state = full ? "read_only" : usedMb >= roomMb * lowAt ? "low" : "ok";
  return { state, server: change, grow: freeMb < emergencyMb(planMb) };
}

/**
 * Beyond the plan: for the file system's own log, and for what is still written between the moment at which the disk
 * is called full and the last write of a server that was told so.
 */
export const reserveMb = (planMb: number): number => Math.min(Math.max(256, Math.ceil(planMb / 20)), 8192);

/** Of the least reserve, without the 64 MB of the file system's log. */
const neverThePlansMb = 192;

/** The size of the file that a plan's disk is. */
export const imageMb = (planMb: number): number => planMb + reserveMb(planMb);

/** XFS keeps 32 MB back for itself. */
export const emergencyMb = (planMb: number): number => Math.max(96, reserveMb(planMb) / 4);

/** How far a volume may grow by itself. A server that is not stopped by then has gone mad, and the host has others. */
export const emergencyLimitMb = (planMb: number): number => imageMb(planMb) + Math.max(2048, Math.ceil(planMb / 4));

/** No disk that we know is written faster than this. */
const fastestMbPerMs = 1;

/** Soon enough that a writer cannot use up half of what is left before the next look. */
export const checkAgainMs = (freeMb: number, state: DiskState): number =>
  state === "read_only" ? 500 : Math.min(Math.max(100, freeMb / 2 / fastestMbPerMs), 5000);
