import { defineTexts, text } from "@moorage/contract/texts";

type OfDatabase = { id: number };
const DATABASE = { id: 7 };
/** `asOf`: null for a snapshot. */
type Restored = { backup: string; asOf: string | null };
const RESTORED: Restored = { backup: "auto-2026-01-01", asOf: "2026-01-01T00:00:00" };
type OfSource = { encrypted: boolean };
const SOURCE: OfSource = { encrypted: true };

/** All times are UTC. */
export const texts = defineTexts("restore", {
  noNode: text(
    () =>
      "Cannot restore this database: it has no node to restore into, because no host could take it when it was created. Delete the database and create it again.",
  ),
  restored: text(
    ({ backup, asOf }: Restored) => `Restored to ${backup}${asOf === null ? "" : `, as of ${asOf}`}.`,
    RESTORED,
  ),
  failedDataKept: text(
    ({ backup, why }: { backup: string; why: string }) =>
      `The restore to ${backup} failed, and the database keeps and serves its previous data: ${why}`,
    { backup: "auto-2026-01-01", why: "the restored data were not ready in time." },
  ),
  failedNoData: text(
    ({ backup, why }: { backup: string; why: string }) =>
      `The restore to ${backup} failed, and the database has no data yet: ${why}`,
    { backup: "auto-2026-01-01", why: "the restored data were not ready in time." },
  ),
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
      `The host of the source did not archive its newest data in time. Fork the source to ${archivedThrough} or earlier, or retry later.`,
    { archivedThrough: "2026-01-01T00:00:00" },
  ),
  forkArchiveGap: text(({ why }: { why: string }) => `The archive of the source has a gap. ${why}`, {
    why: "The data can be restored to a time from 2026-01-01T00:00:00 to 2026-01-08T00:00:00 (UTC).",
  }),

  databaseUnknown: text(({ id }: OfDatabase) => `No database has the id ${id}.`, DATABASE),
  undeleteAccountClosed: text(
    ({ id, accountId }: OfDatabase & { accountId: number }) =>
      `Database ${id} belongs to account ${accountId}, which is closed. First run: moorage account reopen ${accountId}`,
    { ...DATABASE, accountId: 3 },
  ),
  undeleteNothingKept: text(
    ({ id }: OfDatabase) =>
      `Nothing is kept of database ${id} any more. To list the deleted databases that are kept: moorage db list --deleted`,
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
