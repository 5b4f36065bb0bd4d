import { z } from "zod";
import { Positive, PositiveInteger } from "#platform/settings.ts";
import type { ArchiveSettings } from "./timeline-store.ts";

const Hours = (count: number) => Positive.default(count * 3600);

/** How hosts archive databases. They verify a restore at least every six days: one of seven daily backups is verified. */
export const archiveSettings: ArchiveSettings = { log_seconds: 60, copy_hours: { from: 18, to: 24 }, verify_days: 5 };

export const certificateSettings = {
  MOORAGE_DATABASE_CA_DIR: z
    .string()
    .describe(
      "The folder of the certificate authority for databases: `ca.pem` with every authority that tenants may encounter, and for `fleet` only `ca.key` of the one that signs.",
    )
    .meta({ reads: ["ca.pem"] }),
};

export const zoneSettings = {
  MOORAGE_ZONE: z
    .hostname("expected a DNS name, such as db.example.com")
    .describe("The DNS zone of the hostnames of databases, such as `db.example.com`. It must exist in PowerDNS."),
};

/** How long the past of databases is kept. */
export const retentionSettings = {
  MOORAGE_UNDELETE_DAYS: z.coerce
    .number()
    .nonnegative()
    .default(7)
    .describe("How long the last backup of a deleted database is kept for an undelete, in days; 0 disables it."),
  MOORAGE_DAILY_BACKUPS_KEPT: z.coerce
    .number()
    .int()
    .min(2)
    .default(7)
    .describe("How many daily backups are kept, at least two: the last verified one and the newest one."),
};

export const lockSettings = {
  MOORAGE_S3_LOCK_MODE: z
    .enum(["GOVERNANCE", "COMPLIANCE", "off"])
    .default("GOVERNANCE")
    .describe(
      "If the bucket of archives has Object Lock, the mode in which objects are locked for as long as backups are promised: `GOVERNANCE`, `COMPLIANCE` (nobody can end it, not even you) or `off`.",
    ),
};

/** Of requests and of work that continues after them. */
export const changeSettings = {
  MOORAGE_CHANGE_DEADLINE_SECONDS: Positive.default(900).describe(
    "How long a resize, suspend, resume, patch or reset of credentials may take, in seconds; then it fails.",
  ),
  MOORAGE_DELETE_DEADLINE_SECONDS: Hours(24).describe("How long a deletion may take, in seconds."),
  ...retentionSettings,
};

export const restoreSettings = {
  MOORAGE_RESTORE_DEADLINE_SECONDS: Hours(6).describe(
    "How long a restore or fork may take, and addresses of archived objects are valid, in seconds.",
  ),
};

export const requestSettings = {
  MOORAGE_PROVISION_DEADLINE_SECONDS: Positive.default(900).describe(
    "How long the creation of a database may take, in seconds; then it fails.",
  ),
  MOORAGE_UPDATE_DEADLINE_SECONDS: Positive.default(120).describe(
    "How long a change of the allow list may take, in seconds; then it fails.",
  ),
  MOORAGE_BACKUP_DEADLINE_SECONDS: Hours(6).describe("How long a snapshot may take, in seconds; then it fails."),
  MOORAGE_EXISTING_CUSTOMERS_ONLY: z
    .stringbool()
    .default(false)
    .describe("Whether only accounts that have an active database, or the capability, may create one."),
  MOORAGE_SSL_CONNECTION_IF_OMITTED: z
    .stringbool()
    .default(true)
    .describe("The value of `ssl_connection` for a database that is created without it."),
  MOORAGE_PROMETHEUS_URL: z
    .url()
    .optional()
    .describe("Prometheus, for the metrics of databases that tenants see; without it there are none."),
};

export const healthSettings = {
  MOORAGE_HOST_SILENT_SECONDS: Positive.default(300).describe(
    "How long ago a host was last seen, in seconds, before its nodes of three-node databases are replaced, if the two other members work.",
  ),
  MOORAGE_REPLACEMENTS_PER_REGION: PositiveInteger.default(20).describe(
    "How many nodes of three-node databases are replaced at once in a region. Each host receives at most two.",
  ),
  MOORAGE_SILENT_HOSTS_PERCENT: Positive.default(30).describe(
    "If more of a region's hosts than this share, and at least two, are silent at once, no node of the region is replaced, in percent.",
  ),
};
