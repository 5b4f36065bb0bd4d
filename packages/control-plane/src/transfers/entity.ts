import type { EventEntity } from "@moorage/contract";
import type { Sealer } from "#platform/seal.ts";
import type { TransferRow } from "./transfer.ts";

const TRANSFERS = "/v4/account/entity-transfers";

/** How a transfer is named in events, once its token opens nothing any more. */
export const entityOf = (token: string) =>
  ({ id: token, label: null, type: "entity_transfer", url: `${TRANSFERS}/${token}` }) satisfies EventEntity;

/** While it is pending the token is all that it takes to accept, and events are for whoever may read events. */
export const pendingEntity = { id: null, label: null, type: "entity_transfer", url: TRANSFERS } satisfies EventEntity;

export const targetOf = ({ id }: Pick<TransferRow, "id">): string => `transfer/${id}`;

/** What a token is bound to: in another row it does not open. */
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
