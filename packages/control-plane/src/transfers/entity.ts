import type { EventEntity } from "@moorage/contract";
import type { Sealer } from "#platform/seal.ts";
import type { TransferRow } from "./transfer.ts";

const TRANSFERS = "/v4/account/entity-transfers";

/** The entity of a transfer in events, once its token can no longer be used to accept it. */
export const entityOf = (token: string) =>
  ({ id: token, label: null, type: "entity_transfer", url: `${TRANSFERS}/${token}` }) satisfies EventEntity;

/** While the transfer is pending its token suffices to accept it, and every reader of events would see it here. */
export const pendingEntity = { id: null, label: null, type: "entity_transfer", url: TRANSFERS } satisfies EventEntity;

export const targetOf = ({ id }: Pick<TransferRow, "id">): string => `transfer/${id}`;

/** The seal binds a token to its row: copied into another row it cannot be opened. */
const placeOf = ({
  account_id,
  token_sha256,
}: Pick<TransferRow, "account_id" | "token_sha256">): (string | number)[] => [
  "transfers.token",
  account_id,
  token_sha256.toString("hex"),
];

export const sealToken = (
  sealer: Sealer,
  transfer: Pick<TransferRow, "account_id" | "token_sha256">,
  token: string,
): string => sealer.seal(placeOf(transfer), token);
export const openToken = (sealer: Sealer, transfer: TransferRow): string =>
  sealer.open(placeOf(transfer), transfer.token);
