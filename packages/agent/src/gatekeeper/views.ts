import { z } from "zod";

/** What a member's server said of its group, and how long ago. Raw: no verdict is in it. */
export const MemberView = z.object({
  node: z.string(),
  ageMs: z.number(),
  /** `away`: its server does not answer. */
  state: z.enum(["online", "recovering", "offline", "error", "away"]),
  role: z.enum(["primary", "secondary"]).optional(),
  /** The name of its group: while a cluster changes to another timeline, not all members have the same. */
  group: z.string().optional(),
  view: z.string().optional(),
  /** The member that it calls the primary. */
  primary: z.string().optional(),
  /** The members that it calls online, itself too. */
  online: z.array(z.string()),
  /** All that are in its view, unreachable ones too: a server that died is there until it is expelled. */
  listed: z.array(z.string()).optional(),
  /** Neither closed to writes for everybody (`super_read_only`) nor offline. */
  writable: z.boolean(),
  /** Everything that it has executed. */
  gtid: z.string().optional(),
  /** Its host answers and its gatekeeper does not: that is being started again, and this is what it said last. */
  kept: z.boolean().optional(),
  /** Everything that it has received from the group or its leader, executed or not. */
  received: z.string().optional(),
  /** Of an asynchronous cluster: the newest term that its host was told, whether its server answers or not. */
  term: z.int().optional(),
});
export type MemberView = z.output<typeof MemberView>;

/** All that a host knows of one cluster: its own member's view and, where they were heard of, the others'. */
export const ClusterViews = z.object({
  own: MemberView,
  others: z.array(MemberView),
  /** Where this host's gate leads, by the rule; undefined: nowhere. */
  primary: z.string().optional(),
});
export type ClusterViews = z.output<typeof ClusterViews>;
