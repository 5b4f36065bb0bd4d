import { setTimeout as sleep } from "node:timers/promises";
import { addPaymentMethod, Card, updateCreditCard } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import cardValidator from "card-validator";
import {
  type AddCardRequest,
  Admission,
  type CardVault,
  Declined,
  type KeptCard,
  OutcomeUnknown,
  SETTLE_PATH,
  type Settlement,
} from "#payment-provider/index.ts";
import type { Clock } from "#platform/clock.ts";
import { DomainError, type ErrorDetail, invalidReason } from "#platform/errors.ts";
import { judgeUnknownFields } from "#platform/http/unknown-fields.ts";
import { validate } from "#platform/http/validate.ts";
import type { Log } from "#platform/log.ts";
import type { Caller } from "./caller.ts";
import { type AdmissionReply, AdmissionUnreachable, type CardAdmission } from "./card-admission.ts";
import { texts } from "./texts.ts";

export type AddCardDeps = {
  cardAdmission: CardAdmission;
  /** Undefined: there is no payment provider. */
  vault: CardVault | undefined;
  clock: Clock;
  log: Log;
  /** Waits between attempts to report the provider's outcome to the card admission. */
  retryAfterMs?: readonly number[];
};

/** Where the card is in the body of each of the two operations. */
type Way = {
  operation: typeof addPaymentMethod | typeof updateCreditCard;
  cardIn(body: unknown): unknown;
  within: string;
  isDefault(body: unknown): boolean;
};
export const asPaymentMethod: Way = {
  operation: addPaymentMethod,
  cardIn: (body) => (body as { data?: unknown } | undefined)?.data,
  within: "data.",
  isDefault: (body) => (body as { is_default: boolean }).is_default,
};
export const asCreditCard: Way = {
  operation: updateCreditCard,
  cardIn: (body) => body,
  within: "",
  isDefault: () => true,
};

const RETRY_AFTER_MS = [250, 1000, 3000];

/**
 * Errors have the same order as in every operation: the card admission of `api` checks the caller before the caller
 * learns what is wrong with the body. `api` learns only that the body is invalid, never why: a reason may repeat what
 * was sent.
 */
export async function addCard(deps: AddCardDeps, way: Way, caller: Caller, body: unknown): Promise<object> {
  const { faults: unknown, ignored } = judgeUnknownFields(way.operation, body);
  caller.reportIgnored(ignored);
  const faults = [...faultsOf(way, caller, body, deps.clock()), ...unknown];
  const card = way.cardIn(body) as Card;
  const request: AddCardRequest =
    faults.length > 0 ? { is_default: false, card: null } : { is_default: way.isDefault(body), card: factsOf(card) };
  const admitted = await requestAdmission(deps, caller, way.operation.path, request);
  if (faults.length > 0) throw new DomainError("invalid", ...faults);
  const { attempt } = Admission.parse(admitted.body);
  if (attempt === undefined) return {};
  const outcome = await keep(deps, card, attempt);
  const settlement: Settlement = {
    operation: way.operation.id,
    attempt: attempt.id,
    request,
    outcome: outcome instanceof Declined ? { is: "declined" } : { is: "kept", card: outcome },
  };
  const reported = reportOutcome(deps, caller, settlement);
  if (outcome instanceof Declined) {
    // A decline is only reported to be counted.
    await reported.catch(() => undefined);
    throw new DomainError("invalid", { reason: outcome.reason });
  }
  caller.passOn(await reported);
  return {};
}

function faultsOf({ operation, cardIn, within }: Way, { key }: Caller, body: unknown, now: Date): ErrorDetail[] {
  const card = cardIn(body);
  const number = (card as Partial<Card> | undefined | null)?.card_number;
  const inKey = typeof number === "string" && number !== "" && key?.includes(number) === true;
  return [
    ...formFaultsOf(operation.body, body),
    ...judgeAnyCard(card, now, within),
    // A key is stored as a hash, and the hash of a card number can be reversed by trying all numbers.
    ...(inKey ? [{ field: "Idempotency-Key", reason: texts.numberInIdempotencyKey() }] : []),
  ];
}

function formFaultsOf(schema: Way["operation"]["body"], body: unknown): readonly ErrorDetail[] {
  try {
    validate(schema, body ?? {});
    return [];
  } catch (error) {
    if (error instanceof DomainError) return error.errors.map(withoutUnknownName);
    throw error;
  }
}

/**
 * Our field names contain no digits; a field name with digits may be a card number and is not repeated, even to its
 * sender.
 */
const withoutUnknownName = (error: ErrorDetail): ErrorDetail =>
  /\d{4}/.test(error.field ?? "") ? { reason: texts.fieldNameInvalid() } : error;

/** Checks the card if it has the right form; errors of form are reported by the schema. */
export function judgeAnyCard(body: unknown, now: Date, within?: string): ErrorDetail[] {
  const parsed = Card.safeParse(body);
  return parsed.success ? judgeCard(parsed.data, now, within) : [];
}

/** Checks what every bank would refuse: an impossible number, or an expired card. */
export function judgeCard(card: Card, now: Date, within = ""): ErrorDetail[] {
  const fault = (name: keyof Card, valid: Text): ErrorDetail => {
    const field = `${within}${name}`;
    return { field, reason: invalidReason(field, valid) };
  };
  const { isValid, card: brand } = cardValidator.number(card.card_number, { luhnValidateUnionPay: true });
  const faults: ErrorDetail[] = [];
  if (!isValid) faults.push(fault("card_number", texts.numberInvalid()));
  if (brand !== null && !cardValidator.cvv(card.cvv, brand.code.size).isValid)
    faults.push(fault("cvv", texts.cvvLengthWrong({ digits: brand.code.size, brand: brand.niceType })));
  const month = card.expiry_year * 12 + card.expiry_month - 1;
  if (month < now.getUTCFullYear() * 12 + now.getUTCMonth())
    faults.push(fault(card.expiry_year < now.getUTCFullYear() ? "expiry_year" : "expiry_month", texts.expiryInPast()));
  return faults;
}

const factsOf = (card: Card): AddCardRequest["card"] => ({
  card_type: brandOf(card),
  last_four: card.card_number.slice(-4),
  expiry_month: card.expiry_month,
  expiry_year: card.expiry_year,
});

/** Nearly always the same name as in the provider's answer. */
const brandOf = ({ card_number }: Card): string => cardValidator.number(card_number).card?.niceType ?? "";

async function requestAdmission(
  { cardAdmission }: AddCardDeps,
  caller: Caller,
  path: string,
  request: AddCardRequest,
): Promise<AdmissionReply> {
  try {
    return caller.passOn(await cardAdmission.post({ path, headers: caller.headers, body: request }));
  } catch (error) {
    throw error instanceof AdmissionUnreachable ? unavailable(texts.notAcceptedNow()) : error;
  }
}

async function keep(
  { vault, log }: AddCardDeps,
  card: Card,
  attempt: NonNullable<Admission["attempt"]>,
): Promise<KeptCard | Declined> {
  if (vault === undefined) throw unavailable(texts.noProvider());
  try {
    return await vault.keep(card, attempt.holder, keyOf(attempt));
  } catch (error) {
    if (error instanceof Declined) return error;
    if (!(error instanceof OutcomeUnknown)) throw error;
    log.warn({ attempt: attempt.id, outcome: error.message }, "the provider did not confirm whether it stored a card");
    throw unavailable(texts.providerUnreachable());
  }
}

/** Another installation may use the same provider account and the same ids. */
const keyOf = ({ id, holder }: NonNullable<Admission["attempt"]>): string => `card-${holder.accountUuid}-${id}`;

/** The provider has decided: its outcome is reported until `api` confirms it. A repeated report counts once. */
async function reportOutcome(
  { cardAdmission, retryAfterMs = RETRY_AFTER_MS }: AddCardDeps,
  caller: Caller,
  body: Settlement,
): Promise<AdmissionReply> {
  for (const waitMs of [...retryAfterMs, undefined]) {
    const reply = await cardAdmission
      .post({ path: SETTLE_PATH, headers: caller.headers, body })
      .catch((error: unknown) => {
        if (error instanceof AdmissionUnreachable) return undefined;
        throw error;
      });
    if (reply !== undefined && reply.status < 500) return reply;
    if (waitMs !== undefined) await sleep(waitMs);
  }
  throw unavailable(texts.outcomeUnknown());
}

export const unavailable = (reason: Text): DomainError => new DomainError("unavailable", { reason });
