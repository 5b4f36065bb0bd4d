import type { PrimaryTerm } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import type { Next } from "./cluster-health.ts";
import { type Condition, isReachable, type Judged } from "./member-condition.ts";
import { texts } from "./texts.ts";

const count = (members: readonly Judged[], condition: Condition): number =>
  members.filter((member) => member.condition === condition).length;

/**
 * The text for the tenant. It names no host, and changes only when the tenant's possibilities change, because each new
 * text is an event.
 */
export function noticeOf(label: string, members: readonly Judged[], next: Next, primary?: PrimaryTerm): Text {
  const healthy = count(members, "healthy");
  if (healthy === 2) return texts.oneNodeDown({ label });
  // A reachable member shares its view with an unreachable one.
  if (healthy === 1) return texts.twoNodesUnseen({ label });
  if (next.do === "restore") return texts.restoreNeeded({ label });
  if (missingPrimary(members, primary) !== undefined) return texts.primaryUnreachable({ label });
  if (next.do === "ask") return texts.operatorMustDecide({ label });
  return texts.noMajority({ label });
}

/** The primary, if it may be alive although it is unreachable. */
function missingPrimary(members: readonly Judged[], primary: PrimaryTerm | undefined): Judged | undefined {
  const own = members.find(({ node }) => node === primary?.node);
  return own === undefined || isReachable(own.host) || own.host.dead ? undefined : own;
}

const descriptions = {
  lost: texts.adviceNodeLost,
  broken: texts.adviceNodeBroken,
  out_of_group: texts.adviceNodeOutOfGroup,
  isolated: texts.adviceNodeIsolated,
  silent: texts.adviceNodeSilent,
  recovering: texts.adviceNodeRecovering,
};

/** The text for the operator: where the problem is, and what to do if anything. */
export function adviceOf(members: readonly Judged[], next: Next, primary?: PrimaryTerm): Text {
  const where = members
    .flatMap(({ ordinal, host, condition, message }) =>
      condition === "healthy" ? [] : descriptions[condition]({ ordinal, host: host.name, message }).text,
    )
    .join("; ");
  switch (next.do) {
    case "replace":
      return texts.adviceReplacing({ where, ordinal: next.ordinal });
    case "bootstrap":
      return texts.adviceBootstrapping({ where });
    case "promote":
      return texts.advicePromoting({ where, ordinal: next.ordinal });
    case "restore":
      return texts.adviceRestore({ where });
    case "ask":
      return adviceToDecide(where, members, primary);
    case "nothing":
    case "wait":
      return texts.adviceWait({ where });
  }
}

function adviceToDecide(where: string, members: readonly Judged[], primary: PrimaryTerm | undefined): Text {
  const missing = missingPrimary(members, primary);
  if (missing !== undefined) return texts.advicePrimaryUnreachable({ where, host: missing.host.name });
  const lost = members.filter(({ condition }) => condition === "lost").map(({ host }) => host);
  return texts.adviceHostsLost({
    where,
    lost: lost.map(({ name }) => name),
    notDead: lost.filter(({ dead }) => !dead).map(({ name }) => name),
  });
}
