import { MemberView } from "@moorage/contract/agent";
import { z } from "zod";

/** Everything that a host knows of one cluster: its own member's view and the last seen views of the others. */
export const ClusterViews = z.object({
  own: MemberView,
  others: z.array(MemberView),
  /** The member that this host's proxy forwards to, by the rule; undefined: none. */
  primary: z.string().optional(),
});
export type ClusterViews = z.output<typeof ClusterViews>;
