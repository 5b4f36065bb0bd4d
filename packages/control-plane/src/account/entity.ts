import { accountEntity } from "@moorage/contract";
import { type RecordedChange, recordChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";

export const targetOf = (accountId: number): string => `account/${accountId}`;

type Change = RecordedChange & { account: { id: number; company: string } };

export const recordAccountChange = (tx: Tx, by: Principal, { account, ...change }: Change): Promise<void> =>
  recordChange(tx, by, { ...change, target: targetOf(account.id), entity: accountEntity(account.company) });
