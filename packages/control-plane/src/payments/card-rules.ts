import { US_ZIP } from "@moorage/contract";
import { DomainError, type ErrorDetail } from "#platform/errors.ts";
import { texts } from "./texts.ts";

export const MOST_METHODS = 6;

export const tooManyMethods = (): DomainError => refuse({ reason: texts.methodLimitReached({ most: MOST_METHODS }) });

export const rawCardsOff = (): DomainError => new DomainError("forbidden", { reason: texts.cardNumbersNotAccepted() });

/** Banks compare it with the one on file. */
export function requireZip({ zip, country }: { zip: string; country: string }): void {
  if (zip.trim() === "") throw refuse({ field: "zip", reason: texts.zipMissing() });
  if (country === "US" && !US_ZIP.test(zip)) throw refuse({ field: "zip", reason: texts.zipNotUs() });
}

/** Prevents testing of stolen card numbers. */
export function requireFewerPerDay(most: number, { added, refused }: { added: number; refused: number }): void {
  if (added >= most) throw refuse({ reason: texts.cardsPerDayReached({ most }) });
  if (refused >= most) throw refuse({ reason: texts.declinedCardsPerDayReached({ most }) });
}

const refuse = (error: ErrorDetail): DomainError => new DomainError("wrong-state", error);
