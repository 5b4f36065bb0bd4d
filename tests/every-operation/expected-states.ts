import type { ClusterKind } from "./things.ts";

/**
 * In which status a database operation is allowed, written by hand from the interface (its section on the status of a
 * managed database) and the decisions where it is silent; never from the table under test. An operation on a database
 * without a row fails the test.
 */
export const everyStatus = [
  "provisioning",
  "active",
  "suspending",
  "suspended",
  "resuming",
  "restoring",
  "failed",
  "degraded",
  "updating",
  "backing_up",
] as const;
export type Status = (typeof everyStatus)[number];

/** A source or a password that leaked cannot wait until a lost node is back. */
const alsoDegraded: readonly Status[] = ["active", "degraded"];
const butProvisioning = everyStatus.filter((status) => status !== "provisioning");

type ExpectedStates = {
  operation: string;
  /** Where one operation has two meanings. */
  as?: string;
  /** It needs three nodes. */
  cluster?: ClusterKind;
  body?: (context: { restoreTime: string; id: number }) => object;
  allowed: readonly Status[];
};

const instance = "/v4/databases/mysql/instances/:instanceId";

export const expectedStates: readonly ExpectedStates[] = [
  { operation: "GET /v4/databases/instances", allowed: everyStatus },
  { operation: "GET /v4/databases/mysql/instances", allowed: everyStatus },
  { operation: `GET ${instance}`, allowed: everyStatus },
  { operation: `GET ${instance}/metrics/:metric`, allowed: everyStatus },

  { operation: `PUT ${instance}`, as: "label", body: () => ({ label: "renamed" }), allowed: alsoDegraded },
  { operation: `PUT ${instance}`, as: "list", body: () => ({ allow_list: ["192.0.2.1"] }), allowed: alsoDegraded },
  { operation: `PUT ${instance}`, as: "window", body: () => ({ updates: { duration: 1 } }), allowed: alsoDegraded },
  { operation: `PUT ${instance}`, as: "resize", body: () => ({ type: "m1-large" }), allowed: ["active"] },
  { operation: `PUT ${instance}`, as: "nothing", body: () => ({}), allowed: alsoDegraded },
  { operation: `DELETE ${instance}`, allowed: ["active", "failed", "degraded"] },
  { operation: `POST ${instance}/patch`, allowed: ["active"] },
  { operation: `POST ${instance}/suspend`, allowed: ["active"] },
  { operation: `POST ${instance}/resume`, allowed: ["suspended"] },
  { operation: `POST ${instance}/switchover`, cluster: "healthy", allowed: ["active"] },
  {
    operation: `POST ${instance}/promote`,
    cluster: "without_primary",
    body: () => ({ accept_loss: true }),
    // It does not wait for an operation in progress, unless that creates or stops the nodes.
    allowed: ["active", "degraded", "updating", "backing_up", "restoring", "resuming"],
  },
  { operation: `GET ${instance}/failovers`, allowed: everyStatus },

  { operation: `GET ${instance}/credentials`, allowed: butProvisioning },
  { operation: `POST ${instance}/credentials/reset`, allowed: alsoDegraded },
  { operation: `GET ${instance}/ssl`, allowed: butProvisioning },

  { operation: `GET ${instance}/backups`, allowed: butProvisioning },
  { operation: `POST ${instance}/backups`, body: () => ({ label: "snap" }), allowed: ["active"] },
  { operation: `GET ${instance}/backups/:backupId`, allowed: butProvisioning },
  { operation: `DELETE ${instance}/backups/:backupId`, allowed: butProvisioning },
  { operation: `POST ${instance}/backups/:backupId/restore`, allowed: ["active", "degraded", "failed"] },
  {
    operation: "POST /v4/databases/mysql/instances",
    as: "fork",
    body: ({ id, restoreTime }) => ({
      label: "forked",
      region: "eu-central",
      type: "m1-small",
      engine: "mysql/9.7.4",
      fork: { source: id, restore_time: restoreTime },
    }),
    allowed: butProvisioning,
  },
];
