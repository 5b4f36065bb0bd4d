import { z } from "zod";

/** What a member's server reported of its group, and how long ago. Raw: contains no verdict. */
export const MemberView = z.object({
  node: z.string(),
  ageMs: z.number(),
  /** `away`: the server is unreachable. */
  state: z.enum(["online", "recovering", "offline", "error", "away"]),
  role: z.enum(["primary", "secondary"]).optional(),
  /** The name of its group: while a cluster changes to another timeline, members may differ. */
  group: z.string().optional(),
  view: z.string().optional(),
  /** The member that it considers the primary. */
  primary: z.string().optional(),
  /** The members that it considers online, including itself. */
  online: z.array(z.string()),
  /** All members in its view, including unreachable ones: a crashed server is listed until it is expelled. */
  listed: z.array(z.string()).optional(),
  /** Neither `super_read_only` nor `offline_mode` is on. */
  writable: z.boolean(),
  /** Everything that was executed. */
  gtid: z.string().optional(),
  /** The host is up and its gatekeeper is down: it is being restarted, and this is its last view. */
  kept: z.boolean().optional(),
  /** Everything that was received from the group or the primary, executed or not. */
  received: z.string().optional(),
  /** Asynchronous cluster: the newest term that its host knows, whether the server is reachable or not. */
  term: z.int().optional(),
});
export type MemberView = z.output<typeof MemberView>;

/** Everything that a host knows of one cluster: its own member's view and the last seen views of the others. */
export const ClusterViews = z.object({
  own: MemberView,
  others: z.array(MemberView),
  /** The member that this host's proxy forwards to, by the rule; undefined: none. */
  primary: z.string().optional(),
});
export type ClusterViews = z.output<typeof ClusterViews>;
