import { defineTexts, text } from "@moorage/contract/texts";

type OfCopy = { copy: string };
const COPY = { copy: "0b6c7c3e-6a53-4c55-9d3f-3a0e6d2b7f10" };

/** Refusals of what hosts report about the object store, and what can be restored. All times are UTC. */
export const texts = defineTexts("archive", {
  logsMissing: text(
    ({ log, missing }: { log: string; missing: number }) =>
      `${missing} transactions before ${log} are not in the archive.`,
    { log: "binlog.000012.0123456789abcdef", missing: 4 },
  ),
  memberLogName: text(({ name }: { name: string }) => `${name} is not the name of a member's binary log.`, {
    name: "binlog.12",
  }),
  logName: text(
    ({ name, sequence }: { name: string; sequence: number }) => `${name} is not the name of binary log ${sequence}.`,
    { name: "binlog.000011", sequence: 12 },
  ),
  logMissing: text(
    ({ missing, sequence }: { missing: number; sequence: number }) =>
      `Binary log ${missing} is missing before ${sequence}.`,
    { missing: 11, sequence: 12 },
  ),
  logDiffers: text(
    ({ sequence }: { sequence: number }) =>
      `Binary log ${sequence} is in the archive with other transactions: the reported log belongs to another history.`,
    { sequence: 12 },
  ),
  primaryChanged: text(() => "Another node is the primary now. It may lack transactions that the reporting node has."),
  copyNotStored: text(
    ({ copy }: OfCopy) => `The object store does not have copy ${copy} with the reported SHA-256 of its manifest.`,
    COPY,
  ),
  copyEndsBeforeStart: text(({ copy }: OfCopy) => `Copy ${copy} ended before it started.`, COPY),
  copyOfOtherTimeline: text(({ copy }: OfCopy) => `Copy ${copy} belongs to another timeline.`, COPY),
  clockAhead: text(() => "The clock of the host is ahead of the control plane's clock."),
  notATime: text(({ value }: { value: string }) => `${value} is not a time.`, { value: "yesterday" }),
  timelineWritten: text(() => "The timeline has been written to: its start is not its present data."),

  nothingRestorable: text(
    () => "Nothing can be restored: the archive does not reach back to the start of the data or to a base copy.",
  ),
  restorableRange: text(
    ({ oldest, newest }: { oldest: string; newest: string }) =>
      `The data can be restored to a time from ${oldest} to ${newest} (UTC).`,
    { oldest: "2026-01-01T00:00:00", newest: "2026-01-08T00:00:00" },
  ),
  transactionsLeftOut: text(
    ({ count, at }: { count: number; at: string }) =>
      `The database continues without ${count === 1 ? "1 transaction" : `${count} transactions`} that its backups have. To see them, restore or fork the database to a time before ${at} UTC.`,
    { count: 3, at: "2026-01-01T00:00:00" },
  ),
});
