import type { OwnFollowing } from "./following-sql.ts";

/** By node: what it had executed when it could not apply the next, and how often it was tried from there. */
const tries = new Map<string, { executed: string; times: number }>();

/** That a transaction fails once may be a lock or a full disk; the same one again and again is the data. */
export const countFailedAttempts = (node: string, { executed, failure }: OwnFollowing): number => {
  const known = tries.get(node);
  return failure !== undefined && known?.executed === executed ? known.times : 0;
};

/** Before it follows anew. */
export function noteAttempt(node: string, own: OwnFollowing): void {
  if (own.failure === undefined) tries.delete(node);
  else tries.set(node, { executed: own.executed, times: countFailedAttempts(node, own) + 1 });
}
