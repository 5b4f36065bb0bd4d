import type { GroupReport } from "@moorage/contract/agent";
import type { ObservedMember } from "#databases/clusters/health/member-condition.ts";

/** What a member of a table of tests is, where it differs from one that is well. */
export type Differing = Partial<Omit<ObservedMember, "host">> & { host?: Partial<ObservedMember["host"]> };

/** A member whose host is heard, and that says this of its group unless the table says something else. */
export const memberSeen = (ordinal: number, report: GroupReport, differing: Differing): ObservedMember => ({
  ...{ node: `n${ordinal}`, ordinal, state: "running", message: null, report, unhealthySeconds: 0 },
  ...differing,
  host: { name: `host-${ordinal}`, dead: false, silentSeconds: 2, ...differing.host },
});
