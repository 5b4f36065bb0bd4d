import { Card } from "@moorage/contract";
import cardValidator from "card-validator";
import { type ErrorDetail, invalidReason } from "#platform/errors.ts";
import type { Text } from "@moorage/contract/texts";
import { texts } from "./texts.ts";

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

/** Checks the card if it has the right form; errors of form are reported by the schema. */
export function judgeAnyCard(body: unknown, now: Date, within?: string): ErrorDetail[] {
  const parsed = Card.safeParse(body);
  return parsed.success ? judgeCard(parsed.data, now, within) : [];
}

/** Nearly always the same name as in the provider's answer. */
export const brandOf = ({ card_number }: Card): string => cardValidator.number(card_number).card?.niceType ?? "";
