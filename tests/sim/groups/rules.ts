import { mayBePrimary } from "@moorage/contract/agent";
import { chooseInvite } from "../../../packages/agent/src/gatekeeper/choose-invite.ts";
import { readView } from "../../../packages/agent/src/gatekeeper/sample-member.ts";
import { decideGroup } from "../../../packages/agent/src/replication/group/decide-group.ts";
import { placeOf, transactionsOf, trulyUsed } from "../../../packages/agent/src/replication/group/report-group.ts";
import {
  membersToCount,
  nextOfBootstrap,
} from "../../../packages/control-plane/src/databases/clusters/health/bootstrapping.ts";
import { judgeCluster } from "../../../packages/control-plane/src/databases/clusters/health/cluster-health.ts";
import { choosePrimary } from "../../../packages/control-plane/src/databases/clusters/health/switch-activities.ts";

/** The shipped decisions about a group. */
export const shippedGroupRules = {
  mayBePrimary,
  chooseInvite,
  readView,
  decideGroup,
  placeOf,
  transactionsOf,
  trulyUsed,
  membersToCount,
  nextOfBootstrap,
  judgeCluster,
  choosePrimary,
  /** What the activity of a bootstrap requires of a report: `isSeenByDesired`. */
  isSeen: (row: { ran: number; seenBy: number }, generation: number): boolean =>
    row.ran >= generation && row.seenBy >= generation,
};
export type GroupRules = typeof shippedGroupRules;
