import type { OwnFollowing } from "./following-sql.ts";

/** By node: what it had executed when it could not apply the next transaction, and how often that was retried. */
const tries = new Map<string, { executed: string; times: number }>();

/** One failure may be a lock or a full disk; repeated failure of the same transaction means that the data differ. */
export const countFailedAttempts = (node: string, { executed, failure }: OwnFollowing): number => {
  const known = tries.get(node);
  return failure !== undefined && known?.executed === executed ? known.times : 0;
};

/** Called before replication is restarted. */
export function noteAttempt(node: string, own: OwnFollowing): void {
  if (own.failure === undefined) tries.delete(node);
  else tries.set(node, { executed: own.executed, times: countFailedAttempts(node, own) + 1 });
}
