/** Lifecycles of images over a day and a half, and what must be visible and stored at each second. */
const MINUTE = 60;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const AUTOMATIC_HOURS = 12;
/** How long an upload that began in time may take to end. */
const LAST_UPLOAD = 6 * HOUR;

/** The lifecycle of one image, in seconds of the day. It is visible until `gone`. */
type ImageLifecycle = {
  requested: number;
  /** When its data are sent to its address. */
  sent?: number;
  foreign?: true;
  /** When data are sent again to the same address, which nothing awaits. */
  again?: number;
  deleted?: number;
  published?: number;
  retired?: number;
  gone?: number;
  /** The message with which its event ends, if it does. */
  message?: RegExp;
};

export const imageLifecycles: Record<string, ImageLifecycle> = {
  // No data are ever sent: gone after exactly 24 hours.
  "silent from the first hour": { requested: 0, gone: DAY, message: /^No data arrived within 24 hours/ },
  "silent from half past five": { requested: 5.5 * HOUR, gone: 5.5 * HOUR + DAY, message: /^No data arrived/ },
  "silent from an odd second": { requested: 7 * HOUR + 1234, gone: 7 * HOUR + 1234 + DAY, message: /^No data arrived/ },
  // The address still works when the upload is no longer awaited: the data are removed.
  "sent a second too late": { requested: HOUR, sent: HOUR + DAY + 1, gone: HOUR + DAY, message: /^No data arrived/ },

  "sent at once": { requested: 0, sent: 0 },
  "sent after nine hours": { requested: 2 * HOUR, sent: 11 * HOUR },
  // The last check was most of a minute ago.
  "sent in the last second": { requested: 3 * HOUR, sent: 3 * HOUR + DAY - 1 },
  "sent twice": { requested: 4 * HOUR, sent: 5 * HOUR, again: 6 * HOUR },

  // Visible for an hour, so that its owner learns why.
  "bad at once": { requested: 0, sent: 0, foreign: true, gone: HOUR, message: /qcow2/i },
  "bad after ten hours": { requested: 6 * HOUR, sent: 16 * HOUR, foreign: true, gone: 17 * HOUR, message: /qcow2/i },
  "bad in the last second": {
    requested: 8 * HOUR,
    sent: 8 * HOUR + DAY - 1,
    foreign: true,
    // It is read when its time is over, and the hour begins then.
    gone: 8 * HOUR + DAY + HOUR,
    message: /qcow2/i,
  },

  "deleted before its data came": {
    requested: HOUR,
    deleted: 2 * HOUR,
    gone: 2 * HOUR,
    message: /^The image was deleted/,
  },
  "deleted, and then sent": {
    requested: HOUR,
    deleted: 2 * HOUR,
    sent: 9 * HOUR,
    gone: 2 * HOUR,
    message: /^The image was deleted/,
  },
  "deleted when available": { requested: 2 * HOUR, sent: 3 * HOUR, deleted: 12 * HOUR, gone: 12 * HOUR },
  "public for a while": { requested: 0, sent: HOUR, published: 4 * HOUR, retired: 20 * HOUR, gone: 20 * HOUR },
};
/** From an instance that is removed at the sixth hour. */
export const AUTOMATIC = { label: "automatic", made: 6 * HOUR, gone: 6 * HOUR + AUTOMATIC_HOURS * HOUR };
/** By then everything that expires has ended. */
const LAST = 40 * HOUR;

/** Every hour, each moment at which something happens, the second before it, and the one after. */
export const moments = [
  ...new Set([
    ...Array.from({ length: LAST / HOUR + 1 }, (_, hour) => hour * HOUR),
    ...[...Object.values(imageLifecycles), AUTOMATIC]
      .flatMap((lifecycle) => Object.values(lifecycle))
      .filter((value) => typeof value === "number")
      .flatMap((at) => [at - 1, at, at + 1]),
  ]),
]
  .filter((at) => at >= 0)
  .sort((a, b) => a - b);

export const clockOf = (at: number): string =>
  [at / HOUR, (at % HOUR) / MINUTE, at % MINUTE].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");

export const seenAt = (at: number): string[] =>
  [
    ...Object.entries(imageLifecycles)
      .filter(([, { requested, gone = Number.POSITIVE_INFINITY }]) => requested <= at && at < gone)
      .map(([label]) => label),
    ...(AUTOMATIC.made <= at && at < AUTOMATIC.gone ? [AUTOMATIC.label] : []),
  ].sort();

/** The labels of images whose data are in the stores: those that are available and visible. */
export const keptAt = (at: number): string[] =>
  seenAt(at).filter((label) => {
    const { sent = Number.POSITIVE_INFINITY, foreign } = imageLifecycles[label] ?? { sent: AUTOMATIC.made };
    return sent <= at && foreign === undefined;
  });

/**
 * Data that nothing awaits stay until the next check: the daily sweep at midnight, or the last clearing of a deleted
 * image.
 */
export function leftAt(at: number): string[] {
  return Object.entries(imageLifecycles)
    .filter(([, { requested, sent, again, gone }]) => {
      const came = again ?? (gone !== undefined && sent !== undefined && sent >= gone ? sent : undefined);
      if (came === undefined) return false;
      const nextSweep = Math.floor(came / DAY + 1) * DAY;
      const lastClearing = gone === undefined ? nextSweep : requested + DAY + LAST_UPLOAD;
      return came <= at && at < Math.min(nextSweep, lastClearing);
    })
    .map(([label]) => label)
    .sort();
}
