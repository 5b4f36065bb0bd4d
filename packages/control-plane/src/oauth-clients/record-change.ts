import { type RecordedChange, recordChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { OAuthClientRow } from "./client-store.ts";
import { entityOfClient, targetOfClient } from "./oauth-client.ts";

export const recordClientChange = (
  tx: Tx,
  by: Principal,
  client: OAuthClientRow,
  change: RecordedChange,
): Promise<void> =>
  recordChange(tx, by, { ...change, target: targetOfClient(client.id), entity: entityOfClient(client) });
