import { InvalidArgumentError } from "commander";

/** Commander shows the error to the operator; otherwise a NaN would go to the control plane. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}

export function positiveNumber(text: string): number {
  const number = Number(text);
  if (!(Number.isFinite(number) && number > 0)) throw new InvalidArgumentError("It must be a number above 0.");
  return number;
}

/** Encodes a name or an id for use in a path. */
export const segment = (text: string | number): string => encodeURIComponent(text);
