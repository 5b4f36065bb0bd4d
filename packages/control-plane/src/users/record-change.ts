import { type RecordedChange, recordChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { entityOf, targetOf } from "./entity.ts";

type Change = RecordedChange & { user: { id: number; username: string } };

export const recordUserChange = (tx: Tx, by: Principal, { user, ...change }: Change): Promise<void> =>
  recordChange(tx, by, { ...change, target: targetOf(user.id), entity: entityOf(user) });
