/** What happens to images in the course of a day and a half, and what of them must be seen and kept at each second. */
const MINUTE = 60;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const AUTOMATIC_HOURS = 12;
/** How long an upload that began in time may take to end. */
const LAST_UPLOAD = 6 * HOUR;

/** What happens to one image, in seconds of the day. Until `gone` it is seen, and from then on it is not. */
type Life = {
  asked: number;
  /** When its data come, by the address that it was given. */
  sent?: number;
  foreign?: true;
  /** Sent once more by the same address, which nobody waits for. */
  again?: number;
  deleted?: number;
  published?: number;
  retired?: number;
  gone?: number;
  /** How its event ends, if it does. */
  told?: RegExp;
};

export const lives: Record<string, Life> = {
  // Nobody ever sends anything: gone after 24 hours to the second.
  "silent from the first hour": { asked: 0, gone: DAY, told: /^No data arrived within 24 hours/ },
  "silent from half past five": { asked: 5.5 * HOUR, gone: 5.5 * HOUR + DAY, told: /^No data arrived/ },
  "silent from an odd second": { asked: 7 * HOUR + 1234, gone: 7 * HOUR + 1234 + DAY, told: /^No data arrived/ },
  // The address still works when nobody waits any more: what comes is taken away.
  "sent a second too late": { asked: HOUR, sent: HOUR + DAY + 1, gone: HOUR + DAY, told: /^No data arrived/ },

  "sent at once": { asked: 0, sent: 0 },
  "sent after nine hours": { asked: 2 * HOUR, sent: 11 * HOUR },
  // The last look was most of a minute ago.
  "sent in the last second": { asked: 3 * HOUR, sent: 3 * HOUR + DAY - 1 },
  "sent twice": { asked: 4 * HOUR, sent: 5 * HOUR, again: 6 * HOUR },

  // Seen for an hour, so that its owner hears why.
  "bad at once": { asked: 0, sent: 0, foreign: true, gone: HOUR, told: /qcow2/i },
  "bad after ten hours": { asked: 6 * HOUR, sent: 16 * HOUR, foreign: true, gone: 17 * HOUR, told: /qcow2/i },
  "bad in the last second": {
    ...{ asked: 8 * HOUR, sent: 8 * HOUR + DAY - 1, foreign: true },
    // It is read when its time is over, and that hour begins then.
    ...{ gone: 8 * HOUR + DAY + HOUR, told: /qcow2/i },
  },

  "deleted before its data came": { asked: HOUR, deleted: 2 * HOUR, gone: 2 * HOUR, told: /^The image was deleted/ },
  "deleted, and then sent": {
    ...{ asked: HOUR, deleted: 2 * HOUR, sent: 9 * HOUR, gone: 2 * HOUR, told: /^The image was deleted/ },
  },
  "deleted when available": { asked: 2 * HOUR, sent: 3 * HOUR, deleted: 12 * HOUR, gone: 12 * HOUR },
  "public for a while": { asked: 0, sent: HOUR, published: 4 * HOUR, retired: 20 * HOUR, gone: 20 * HOUR },
};
/** Of an instance that is removed at the sixth hour. */
export const AUTOMATIC = { label: "automatic", made: 6 * HOUR, gone: 6 * HOUR + AUTOMATIC_HOURS * HOUR };
/** By then everything that ends by itself has ended. */
const LAST = 40 * HOUR;

/** Every hour, each moment at which something happens, the second before it, and the one after. */
export const moments = [
  ...new Set([
    ...Array.from({ length: LAST / HOUR + 1 }, (_, hour) => hour * HOUR),
    ...[...Object.values(lives), AUTOMATIC]
      .flatMap((life) => Object.values(life))
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
    ...Object.entries(lives)
      .filter(([, { asked, gone = Number.POSITIVE_INFINITY }]) => asked <= at && at < gone)
      .map(([label]) => label),
    ...(AUTOMATIC.made <= at && at < AUTOMATIC.gone ? [AUTOMATIC.label] : []),
  ].sort();

/** Of the images whose data are in the stores, their labels: those that are available and seen. */
export const keptAt = (at: number): string[] =>
  seenAt(at).filter((label) => {
    const { sent = Number.POSITIVE_INFINITY, foreign } = lives[label] ?? { sent: AUTOMATIC.made };
    return sent <= at && foreign === undefined;
  });

/**
 * What is sent when nobody waits for it lies about until the next look at it: the daily sweep, which comes at midnight,
 * or the last clearing of a deleted image.
 */
export function leftAt(at: number): string[] {
  return Object.entries(lives)
    .filter(([, { asked, sent, again, gone }]) => {
      const came = again ?? (gone !== undefined && sent !== undefined && sent >= gone ? sent : undefined);
      if (came === undefined) return false;
      const nextSweep = Math.floor(came / DAY + 1) * DAY;
      const lastClearing = gone === undefined ? nextSweep : asked + DAY + LAST_UPLOAD;
      return came <= at && at < Math.min(nextSweep, lastClearing);
    })
    .map(([label]) => label)
    .sort();
}
