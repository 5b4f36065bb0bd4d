import type { UploadDeps } from "../../archive/upload.ts";
import type { ClusterViews } from "../../gatekeeper/gatekeeper-client.ts";
import type { Background } from "../../base/background.ts";
import type { AdmitDeletion } from "../../specs/host-record.ts";
import type { NodeContext } from "../../node/node-context.ts";
import type { MemberWork } from "./clone-rules.ts";

export type ReplicationDeps = {
  /** Requested from the gateway; fails while it is unreachable. */
  adminPassword: (node: string) => Promise<string>;
  /** The password of the members' own account. Requested from the gateway, like `adminPassword`. */
  groupPassword: (node: string) => Promise<string>;
  /** Requested before data are given up. */
  admitDeletion: AdmitDeletion;
  /** Whether the gateway is reachable now. */
  gatewayAnswers: () => Promise<boolean>;
  /** Upload addresses for objects of a node's timeline, requested from the gateway. */
  uploads: UploadDeps["uploads"];
  /** The gatekeeper's view of a member's cluster; undefined while the gatekeeper does not answer. */
  viewsOf: (node: string) => Promise<ClusterViews | undefined>;
  /** For what a run must not wait for. */
  background: Pick<Background<MemberWork>, "run">;
};

export type MemberContext = NodeContext & ReplicationDeps;

/** Each of these precedes the act itself: a host that dies in between has used the id without the act. */
export const recordSteps = {
  bootstrap: "agent.group.record-bootstrap",
  reclone: "agent.group.record-reclone",
  makePrimary: "agent.group.record-make-primary",
  open: "agent.group.record-open",
  /** The act that follows is the report. */
  fence: "agent.group.record-fence",
};
