import { defineTexts, text } from "@moorage/contract/texts";

type OfDatabase = { id: number };
const DATABASE = { id: 7 };
/** `asOf`: null for a snapshot. */
type Restored = { backup: string; asOf: string | null };
const RESTORED: Restored = { backup: "Scheduled-20260101-0000", asOf: "2026-01-01T00:00:00" };
/** Times are UTC, with milliseconds. `gtid`, `seen`: null if unknown. */
type Receipt = { until: string; gtid: string | null; seen: string | null };
const RECEIPT: Receipt = {
  until: "2026-01-01T12:00:00.250",
  gtid: "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77",
  seen: "2026-01-01T12:00:40.000",
};
type OfSource = { encrypted: boolean };
const SOURCE: OfSource = { encrypted: true };

/** All times are UTC. */
export const texts = defineTexts("restore", {
  noNode: text(
    () =>
      "Cannot restore this database: it has no node to restore into, because no host could take it when it was created. Delete the database and create it again.",
  ),
  restored: text(
    ({ backup, asOf }: Restored) => `Restored to ${backup}${asOf === null ? "" : `, as of ${asOf} UTC`}.`,
    RESTORED,
  ),
  failedDataKept: text(
    ({ backup, why }: { backup: string; why: string }) =>
      `The restore to ${backup} failed, and the database keeps and serves its previous data: ${why}`,
    { backup: "Scheduled-20260101-0000", why: "the restored data were not ready in time." },
  ),
  failedNoData: text(
    ({ backup, why }: { backup: string; why: string }) =>
      `The restore to ${backup} failed, and the database has no data yet: ${why}`,
    { backup: "Scheduled-20260101-0000", why: "the restored data were not ready in time." },
  ),
  /** The receipt of a restore that followed the loss of a host. */
  restoredElsewhere: text(
    ({ until, gtid, seen }: Receipt) =>
      [
        `The host of the database is lost. The database was restored on another host as of ${until} UTC, the newest point in its archive.`,
        "Hostname, port and password are the same.",
        `Lost: every transaction committed after ${until} UTC.`,
        ...(seen === null ? [] : [`The lost host was last seen at ${seen} UTC.`]),
        ...(gtid === null ? [] : [`Restored transactions (GTID): ${gtid}.`]),
      ].join(" "),
    RECEIPT,
  ),
  failedElsewhere: text(
    ({ why }: { why: string }) =>
      `The host of the database is lost, and the database could not be restored on another host: ${why} It is tried again in 10 minutes. Until then the database does not serve. The archive is kept. To give the database up, delete it.`,
    { why: "No host of this region has capacity for this type." },
  ),
  noRoomElsewhere: text(
    () => "No host of this region has capacity for the database. The operator can add a host, or make room on one.",
  ),
  hostsLost: text(() => "three hosts were lost, one after the other, while they restored the data."),
  otherDataServed: text(() => "its host does not run the restored data."),
  notReadyInTime: text(() => "the restored data were not ready in time."),

  forkNoData: text(() => "Cannot fork the source database: it was never provisioned, so it has no data."),
  forkTime: text(
    ({ oldest, newest }: { oldest: string; newest: string }) => `a time from ${oldest} to ${newest} (UTC)`,
    {
      oldest: "2026-01-01T00:00:00",
      newest: "2026-01-08T00:00:00",
    },
  ),
  forkSource: text(({ id }: OfDatabase) => `the id of one of your databases; ${id} is not one of them`, DATABASE),
  forkEngine: text(({ ids }: { ids: readonly string[] }) => `${ids.join(" or ")}, the engine of the source`, {
    ids: ["mysql/8.0.30", "mysql/8"],
  }),
  forkEncrypted: text(({ encrypted }: OfSource) => `${encrypted}, the value of the source`, SOURCE),
  forkType: text(
    ({ usedMb }: { usedMb: number }) => `a type with at least ${usedMb} MB of disk, because the source uses that much`,
    { usedMb: 30_000 },
  ),
  forkSourceNotArchived: text(
    ({ archivedThrough }: { archivedThrough: string }) =>
      `The host of the source did not archive its newest data in time. Fork the source to ${archivedThrough} UTC or earlier, or retry later.`,
    { archivedThrough: "2026-01-01T00:00:00" },
  ),
  forkArchiveGap: text(({ why }: { why: string }) => `The archive of the source has a gap. ${why}`, {
    why: "The data can be restored to a time from 2026-01-01T00:00:00 to 2026-01-08T00:00:00 (UTC).",
  }),

  databaseUnknown: text(
    ({ id }: OfDatabase) => `No database has the id ${id}. See: moorage admin db list --deleted`,
    DATABASE,
  ),
  undeleteAccountClosed: text(
    ({ id, accountId }: OfDatabase & { accountId: number }) =>
      `Database ${id} belongs to account ${accountId}, which is closed. First run: moorage admin account reopen ${accountId}`,
    { ...DATABASE, accountId: 3 },
  ),
  undeleteNothingKept: text(
    ({ id }: OfDatabase) =>
      `Nothing is kept of database ${id} any more. To list the deleted databases that are kept: moorage admin db list --deleted`,
    DATABASE,
  ),
  undeleteStillDeleting: text(
    ({ id }: OfDatabase) => `The deletion of database ${id} is still under way. Retry when its event has ended.`,
    DATABASE,
  ),
  undeleteNodeNotRemoved: text(
    ({ id }: OfDatabase) =>
      `A host has not removed database ${id} yet. Retry when the host is back and has removed the database.`,
    DATABASE,
  ),
  undeleteLabelTaken: text(
    ({ label, other }: { label: string; other: number }) =>
      `The label "${label}" is taken by database ${other}. The tenant must rename database ${other} first.`,
    { label: "orders", other: 8 },
  ),
});
