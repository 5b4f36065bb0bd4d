/** What a future primary had when it last received something from a member that is ahead. */
export type FetchProgress = { ahead: string; gtid: string; since: number };

/** Undefined: nobody is ahead. */
export const fetchProgress = (
  before: FetchProgress | undefined,
  ahead: string | undefined,
  gtid: string,
  now: number,
): FetchProgress | undefined => {
  if (ahead === undefined) return undefined;
  return before?.ahead === ahead && before.gtid === gtid ? before : { ahead, gtid, since: now };
};
