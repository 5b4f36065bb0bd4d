import type { PrimaryTerm } from "@moorage/contract/agent";
import type { Next } from "./cluster-health.ts";
import { type Condition, isReachable, type Judged } from "./member-condition.ts";

const count = (members: readonly Judged[], condition: Condition): number =>
  members.filter((member) => member.condition === condition).length;

/**
 * The sentence for the tenant. It names no host, and changes only when the tenant's possibilities change, because each
 * new sentence is an event.
 */
export function sentenceOf(label: string, members: readonly Judged[], next: Next, primary?: PrimaryTerm): string {
  const healthy = count(members, "healthy");
  if (healthy === 2)
    return `One of the three nodes of ${label} is not healthy. Reads and writes go on; it comes back by itself, or is replaced.`;
  // A reachable member shares its view with an unreachable one.
  if (healthy === 1)
    return `Two of the three nodes of ${label} cannot be seen by the control plane. Reads and writes go on between those that reach each other.`;
  if (next.do === "restore")
    return `${label} has stopped: those of its nodes that are left lack some of what is in its backups. Restore it to the newest point in time.`;
  if (missingPrimary(members, primary) !== undefined)
    return `The primary of ${label} is not heard of, so writes have stopped. It may be alive, so nobody takes its place by itself: they go on when it is back. You can have another node lead instead (promote); what only the primary has is lost then.`;
  if (next.do === "ask")
    return `${label} has stopped: not all of its nodes are there to say which has everything that was written. The operator has to decide.`;
  return `Fewer than two of the three nodes of ${label} are together, so writes have stopped rather than split. They go on by themselves as soon as two are.`;
}

/** The primary, if it may be alive although it is unreachable. */
function missingPrimary(members: readonly Judged[], primary: PrimaryTerm | undefined): Judged | undefined {
  const own = members.find(({ node }) => node === primary?.node);
  return own === undefined || isReachable(own.host) || own.host.dead ? undefined : own;
}

const descriptions: Record<Condition, string> = {
  healthy: "is healthy",
  lost: "is lost with its host",
  broken: "has lost its data, or has some that the others do not have",
  out_of_group: "is in no group",
  isolated: "sees no other member",
  silent: "is on a host that is not heard",
  recovering: "is on its way",
};

/** The sentence for the operator: where the problem is, and what to do if anything. */
export function adviceOf(members: readonly Judged[], next: Next, primary?: PrimaryTerm): string {
  const where = members
    .filter(({ condition }) => condition !== "healthy")
    .map(({ ordinal, host, condition, message }) => {
      const detail = condition === "broken" && message !== null ? `: ${message}` : "";
      return `node ${ordinal} (${host.name}) ${descriptions[condition]}${detail}`;
    })
    .join("; ");
  return `${where}. ${whatToDo(members, next, primary)}`;
}

function whatToDo(members: readonly Judged[], next: Next, primary: PrimaryTerm | undefined): string {
  if (next.do === "replace") return "It is being replaced.";
  if (next.do === "bootstrap") return "The group is being formed anew with the most advanced.";
  if (next.do === "promote") return `Node ${next.ordinal} leads next.`;
  if (next.do === "restore")
    return "The archive has more than those that answer, so none of them leads. Bring the others back, or have its tenant restore it; to go on without that: moorage db bootstrap <id> --accept-loss";
  if (next.do !== "ask") return "Nothing to do yet.";
  const missing = missingPrimary(members, primary);
  if (missing !== undefined)
    return `It led, and may do so still. Bring ${missing.host.name} back; if it is gone for good, another leads without what only it had: moorage host dead ${missing.host.name}. Its tenant can decide that too (promote).`;
  const lost = members.filter(({ condition }) => condition === "lost");
  const undead = lost.filter(({ host }) => !host.dead).map(({ host }) => host.name);
  const dead = undead.map((name) => `moorage host dead ${name}; `).join("");
  return `Bring ${lost.map(({ host }) => host.name).join(" and ")} back, or accept what is lost with: ${dead}moorage db bootstrap <id> --accept-loss`;
}
