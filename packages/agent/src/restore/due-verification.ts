import type { NodeSpec } from "@moorage/contract/agent";
import { z } from "zod";

/** When the last verification ran, with which versions, and its result. */
export const LastVerification = z.object({ at: z.string(), ok: z.boolean(), image: z.string(), agent: z.string() });
export type LastVerification = z.output<typeof LastVerification>;

const dayMs = 24 * 3_600_000;
/** Seven daily backups are kept: with one verified every six days, the last verified one is among the seven newest. */
const longestDays = 6;

/** Every few days, and after a change of the server's image or the agent, which could change the outcome. */
export function dueVerification(
  now: Date,
  last: LastVerification | undefined,
  { archive, engine }: Pick<NodeSpec, "archive" | "engine">,
  agentVersion: string,
): boolean {
  if (archive === undefined) return false;
  if (last === undefined || last.image !== engine.image || last.agent !== agentVersion) return true;
  // A failed verification is repeated daily: somebody may have repaired the archive.
  const days = Math.min(archive.verify_days, last.ok ? longestDays : 1);
  return now.getTime() >= Date.parse(last.at) + days * dayMs;
}
