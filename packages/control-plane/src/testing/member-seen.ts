import type { GroupReport } from "@moorage/contract/agent";
import type { ObservedMember } from "#databases/clusters/member-condition.ts";

/** How a member in a table of tests differs from a healthy one. */
export type Differing = Partial<Omit<ObservedMember, "host">> & { host?: Partial<ObservedMember["host"]> };

/** A member whose host is reachable, with this report of its group unless the table differs. */
export const memberSeen = (ordinal: number, report: GroupReport, differing: Differing): ObservedMember => ({
  node: `n${ordinal}`,
  ordinal,
  state: "running",
  message: null,
  report,
  unhealthySeconds: 0,
  ...differing,
  host: {
    name: `host-${ordinal}`,
    dead: false,
    silentSeconds: 2,
    unseenSeconds: differing.host?.silentSeconds ?? 2,
    ...differing.host,
  },
});
