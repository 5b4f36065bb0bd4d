const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** In seconds. */
export const lifetimes = {
  accessToken: 2 * HOUR,
  code: 10 * MINUTE,
  /** Each refresh issues a new one with this lifetime. */
  refreshToken: 14 * DAY,
  interaction: HOUR,
  idToken: HOUR,
  /** How long a person has to type in the code that a device shows. */
  deviceCode: 10 * MINUTE,
  /** The token by which the command line stays signed in. */
  commandLineToken: 90 * DAY,
  session: { idle: 12 * HOUR, whole: 7 * DAY },
} as const;

/** Use extends a session, up to a maximum age. */
export function sessionSeconds(signedInAt: number | undefined, now: number): number {
  const { idle, whole } = lifetimes.session;
  return signedInAt === undefined ? idle : Math.max(1, Math.min(idle, signedInAt + whole - now));
}
