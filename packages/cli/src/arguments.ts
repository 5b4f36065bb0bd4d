import { InvalidArgumentError } from "commander";
import { texts } from "./texts.ts";

/** Commander shows the error to the operator; otherwise a NaN would go to the control plane. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError(texts.wholeNumberInvalid().text);
  return Number(text);
}

export function positiveNumber(text: string): number {
  const number = Number(text);
  if (!(Number.isFinite(number) && number > 0)) throw new InvalidArgumentError(texts.positiveNumberInvalid().text);
  return number;
}

/** Encodes a name or an id for use in a path. */
export const segment = (text: string | number): string => encodeURIComponent(text);
