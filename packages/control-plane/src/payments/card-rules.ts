import { US_ZIP } from "@moorage/contract";
import { DomainError, type ErrorDetail } from "#platform/errors.ts";

export const MOST_METHODS = 6;

export const tooManyMethods = (): DomainError =>
  refuse({
    reason: `An account has at most ${MOST_METHODS} payment methods. Remove one that is not the default with DELETE /v4/account/payment-methods/{id} first.`,
  });

export const rawCardsOff = (): DomainError =>
  new DomainError("forbidden", {
    reason:
      "Card numbers are not taken here. Add the card on the payment provider's own page: POST /v4/account/payment-methods/link gives its address.",
  });

const HOW = "Set the billing address with PUT /v4/account first.";

/** Banks compare it with the one on file. */
export function requireZip({ zip, country }: { zip: string; country: string }): void {
  if (zip.trim() === "") throw refuse({ field: "zip", reason: `The account's billing address has no zip. ${HOW}` });
  if (country === "US" && !US_ZIP.test(zip))
    throw refuse({ field: "zip", reason: `The account's zip is not one of the US, such as 10001. ${HOW}` });
}

/** Prevents testing of stolen card numbers. */
export function requireFewerPerDay(most: number, { added, refused }: { added: number; refused: number }): void {
  if (added >= most)
    throw refuse({ reason: `An account can add at most ${most} cards in 24 hours. Add this one later.` });
  if (refused >= most)
    throw refuse({ reason: `${most} cards of this account were declined in 24 hours. Add one later.` });
}

const refuse = (error: ErrorDetail): DomainError => new DomainError("wrong-state", error);
