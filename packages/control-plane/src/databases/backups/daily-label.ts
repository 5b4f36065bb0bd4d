const DAY_MS = 86_400_000;

export const dailyLabel = (at: Date): string => {
  const digits = at.toISOString().replaceAll(/\D/g, "");
  return `Scheduled-${digits.slice(0, 8)}-${digits.slice(8, 12)}`;
};

/** Tenants cannot use such a label: it would collide with a future daily backup. */
export const isDailyLabel = (label: string): boolean => /^Scheduled-\d{8}-\d{4}$/.test(label);

/** The first 00:00:00 UTC after this time. */
export const nextMidnight = (after: Date): Date => new Date((Math.floor(after.getTime() / DAY_MS) + 1) * DAY_MS);
