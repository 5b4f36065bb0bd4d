import { clonesPerHost, type NodeSpec } from "@moorage/contract/agent";
import type { Work } from "../../base/background.ts";
import type { UsedIds } from "../../specs/node-state.ts";
import { dueReclone } from "./due-reclone.ts";

/** A clone that is under way: its order, the member whose data it takes, and the timeline of the volume. */
export type Clone = { id: string; donor: string; ordinal: number };

/** While a member clones, its server belongs to the clone: only its firewall may be changed. */
export type MemberWork = Work & { clone?: Clone };

/** What a clone has to wait for. A server serves one clone at a time, also for members on other hosts. */
export function cloneIsHeldBy(running: readonly MemberWork[], { clone }: MemberWork): string | undefined {
  if (clone === undefined) return undefined;
  const others = running.flatMap((work) => work.clone ?? []);
  if (others.some(({ donor }) => donor === clone.donor)) return "another copy of the same member's data to end";
  if (others.length >= clonesPerHost) return `one of the ${clonesPerHost} re-clones of this host to end`;
  return undefined;
}

/** Whether this spec still needs what the clone makes. `used` and `ordinal` are those of the spec's timeline. */
export const isStillDue = (
  { id, ordinal }: Clone,
  spec: Pick<NodeSpec, "cluster" | "tombstone" | "power">,
  desired: { used: UsedIds; ordinal: number },
): boolean =>
  spec.tombstone === undefined &&
  spec.power !== "off" &&
  ordinal === desired.ordinal &&
  dueReclone(spec, desired.used)?.id === id;
