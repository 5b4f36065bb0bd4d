import { defineTexts, text } from "@moorage/contract/texts";

type OfCopy = { copy: string };
const COPY = { copy: "0b6c7c3e-6a53-4c55-9d3f-3a0e6d2b7f10" };
/** `at`: a UTC time before which the transactions can be restored. */
type Losses = { losses: { count: number; at: string }[] };
const LOSSES: Losses = { losses: [{ count: 3, at: "2026-01-01T00:00:00" }] };

function withoutThem({ losses }: Losses): string {
  const sum = losses.reduce((all, { count }) => all + count, 0);
  const transactions = sum === 1 ? "1 transaction" : `${sum} transactions`;
  const times = losses.map(({ count, at }) => (losses.length === 1 ? `${at} UTC` : `${at} UTC (${count} of them)`));
  return `without ${transactions} that its backups have. To see them, restore or fork the database to a time before ${times.join(", and before ")}.`;
}

/** Refusals of what hosts report about the object store, and what can be restored. All times are UTC. */
export const texts = defineTexts("archive", {
  logsMissing: text(
    ({ log, missing }: { log: string; missing: number }) =>
      `${missing} transactions before ${log} are not in the archive.`,
    { log: "binlog.000012.0123456789abcdef", missing: 4 },
  ),
  memberLogName: text(
    ({ name }: { name: string }) =>
      `${name} is not the name of a binary log of a cluster's node: the form is binlog.<six or more digits>.<16 hexadecimal digits>.`,
    {
      name: "binlog.12",
    },
  ),
  logName: text(
    ({ name, sequence }: { name: string; sequence: number }) =>
      `${name} is not the name of binary log ${sequence}, which is binlog.${String(sequence).padStart(6, "0")}.`,
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
  copyEndsBeforeStart: text(
    ({ copy }: OfCopy) =>
      `By the clock of its host, base copy ${copy} ended before it started. Check that clock: timedatectl`,
    COPY,
  ),
  copyOfOtherTimeline: text(({ copy }: OfCopy) => `Copy ${copy} belongs to another timeline.`, COPY),
  clockAhead: text(() => "The clock of the host is ahead of the control plane's clock."),
  notATime: text(({ value }: { value: string }) => `${value} is not a time: the form is 2026-01-31T12:00:00Z.`, {
    value: "yesterday",
  }),
  timelineWritten: text(() => "The timeline has been written to: its start is not its present data."),

  nothingRestorable: text(
    () =>
      "Nothing can be restored: the archive has neither a base copy nor all binary logs since the database was created. Ask the operator.",
  ),
  restorableTimes: text(
    ({ ranges }: { ranges: readonly { oldest: string; newest: string }[] }) =>
      `The data can be restored to a time ${ranges.map(({ oldest, newest }) => `from ${oldest} to ${newest}`).join(", or ")} (UTC).`,
    {
      ranges: [
        { oldest: "2026-01-01T00:00:00", newest: "2026-01-03T00:00:00" },
        { oldest: "2026-01-03T01:00:00", newest: "2026-01-08T00:00:00" },
      ],
    },
  ),
  transactionsLeftOut: text(({ losses }: Losses) => `The database continues ${withoutThem({ losses })}`, LOSSES),
  failedAfterAcceptedLoss: text(
    ({ failure, losses }: Losses & { failure: string }) =>
      `${failure} The operator accepted that the database continues ${withoutThem({ losses })}`,
    {
      failure: "Replication between the nodes of the database could not be started in time.",
      losses: [...LOSSES.losses, { count: 1, at: "2026-01-01T01:00:00" }],
    },
  ),
});
