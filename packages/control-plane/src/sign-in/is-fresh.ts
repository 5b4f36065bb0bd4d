const FRESH_MS = 10 * 60_000;

/** Changing how one signs in requires a recent sign-in. */
export const isFresh = ({ signedInAt }: { signedInAt: Date }, now: Date): boolean =>
  now.getTime() - signedInAt.getTime() < FRESH_MS;
