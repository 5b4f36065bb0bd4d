import { type EntityTransfer, type EventEntity, toTimestamp, type TransferStatus } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { type Selectable, sql } from "kysely";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError } from "#platform/errors.ts";
import type { Sealer } from "#platform/seal.ts";
import { type SealedColumn, sealedColumn } from "#platform/db/sealed-column.ts";
import { texts } from "./texts.ts";

export type TransferRow = Selectable<Tables["transfers"]>;

export const LIFE_HOURS = 24;
const LIFE_MS = LIFE_HOURS * 3_600_000;
export const expiryOf = (created: Date): Date => new Date(created.getTime() + LIFE_MS);

/** A transfer that nobody accepted in time is stale from that moment on, whether or not the row says so yet. */
export const statusAt = (
  { status, expires_at }: Pick<TransferRow, "status" | "expires_at">,
  now: Date,
): TransferStatus => (status === "pending" && expires_at <= now ? "stale" : status);

/** Sender and receiver; and while it can be accepted, anybody with the token. */
export const maySee = (transfer: TransferRow, accountId: number, now: Date): boolean =>
  [transfer.account_id, transfer.receiver_account_id].includes(accountId) || statusAt(transfer, now) === "pending";

/** Both accounts of an accepted transfer, in the order in which accounts are locked. */
export const partiesOf = ({ account_id, receiver_account_id }: TransferRow): number[] =>
  [account_id, receiver_account_id as number].toSorted((a, b) => a - b);

export function requireCancelable(transfer: TransferRow, now: Date): void {
  const status = statusAt(transfer, now);
  if (status !== "pending") throw new DomainError("wrong-state", { reason: texts.notCancelable({ status }) });
}

export function requireAcceptable(transfer: TransferRow, accountId: number, now: Date): void {
  const status = statusAt(transfer, now);
  if (transfer.account_id === accountId) throw new DomainError("wrong-state", { reason: texts.ownTransfer() });
  if (status !== "pending") throw new DomainError("wrong-state", { reason: texts.notAcceptable({ status }) });
}

type Compute = { id: number; account_id: number; deleted_at: Date | null };

/** Why the instances cannot be moved any more; undefined when all can. */
export function whyNot(
  transfer: Pick<TransferRow, "account_id" | "computes">,
  computes: readonly Compute[],
): Text | undefined {
  const own = computes.filter((each) => each.account_id === transfer.account_id && each.deleted_at === null);
  const gone = transfer.computes.filter((id) => !own.some((compute) => compute.id === id));
  return gone.length === 0 ? undefined : texts.computesNotOwned({ ids: gone });
}

type Reading = { sealer: Sealer; reader: number; now: Date };

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

const TRANSFERS = "/v4/account/entity-transfers";

/** The entity of a transfer in events, once its token can no longer be used to accept it. */
export const entityOf = (token: string) =>
  ({ id: token, label: null, type: "entity_transfer", url: `${TRANSFERS}/${token}` }) satisfies EventEntity;

/** While the transfer is pending its token suffices to accept it, and every reader of events would see it here. */
export const pendingEntity = { id: null, label: null, type: "entity_transfer", url: TRANSFERS } satisfies EventEntity;

export const targetOf = ({ id }: Pick<TransferRow, "id">): string => `transfer/${id}`;

export const sealToken = (
  sealer: Sealer,
  transfer: Pick<TransferRow, "account_id" | "token_sha256">,
  token: string,
): string => sealer.seal(placeOf(transfer), token);
export const openToken = (sealer: Sealer, transfer: TransferRow): string =>
  sealer.open(placeOf(transfer), transfer.token);

/** The seal binds a token to its row: copied into another row it cannot be opened. */
const placeOf = ({
  account_id,
  token_sha256,
}: Pick<TransferRow, "account_id" | "token_sha256">): (string | number)[] => [
  "transfers.token",
  account_id,
  token_sha256.toString("hex"),
];

export const sealedByTransfers: readonly SealedColumn[] = [
  sealedColumn({
    table: "transfers",
    column: "token",
    key: ["token_sha256"],
    also: ["account_id"],
    placeOf,
    write: (given) => sql`update transfers set token = ${given}`,
  }),
];
