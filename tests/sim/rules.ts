import { mayBePrimary } from "@moorage/contract/agent";
import { readFollowing } from "../../packages/agent/src/gatekeeper/sample-following.ts";
import { comparedErrant } from "../../packages/agent/src/replication/following/compare-errant.ts";
import { decideFollowing } from "../../packages/agent/src/replication/following/decide-following.ts";
import { diedAsPrimary, isFenced } from "../../packages/agent/src/replication/following/fence.ts";
import { placeOf, termsOf, transactionsOf } from "../../packages/agent/src/replication/following/report-following.ts";
import { markOf } from "../../packages/agent/src/replication/following/server-name.ts";
import {
  isAgreedInTerm,
  outcomeOfHandOver,
} from "../../packages/control-plane/src/databases/clusters/async-primary/hand-over-rules.ts";
import { chooseSuccessor } from "../../packages/control-plane/src/databases/clusters/health/choose-successor.ts";
import { judgeCluster } from "../../packages/control-plane/src/databases/clusters/health/cluster-health.ts";
import { primaryToReplace } from "../../packages/control-plane/src/databases/clusters/health/primary-to-replace.ts";
import { whyStuck } from "../../packages/control-plane/src/databases/clusters/health/why-stuck.ts";

/** The shipped decisions. A planted defect replaces one of them; the simulation has none of its own. */
export const shippedRules = {
  decideFollowing,
  diedAsPrimary,
  isFenced,
  comparedErrant,
  placeOf,
  termsOf,
  transactionsOf,
  markOf,
  readFollowing,
  mayBePrimary,
  judgeCluster,
  chooseSuccessor,
  primaryToReplace,
  isAgreedInTerm,
  outcomeOfHandOver,
  whyStuck,
};
export type Rules = typeof shippedRules;
