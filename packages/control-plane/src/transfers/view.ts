import { type EntityTransfer, toTimestamp } from "@moorage/contract";
import type { Sealer } from "#platform/seal.ts";
import { openToken } from "./entity.ts";
import { statusAt, type TransferRow } from "./transfer.ts";

export const viewOfTransfer = (row: TransferRow, { sealer, reader, now }: Reading): EntityTransfer => {
  const status = statusAt(row, now);
  return {
    created: toTimestamp(row.created_at),
    entities: { computes: row.computes },
    expiry: toTimestamp(row.expires_at),
    is_sender: row.account_id === reader,
    status,
    token: openToken(sealer, row),
    updated: toTimestamp(status === "stale" ? row.expires_at : row.updated_at),
  };
};
type Reading = { sealer: Sealer; reader: number; now: Date };
