import { InvalidArgumentError } from "commander";

/** What commander gives to the operator, instead of a NaN that the control plane would have to explain. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}

export function positiveNumber(text: string): number {
  const number = Number(text);
  if (!(Number.isFinite(number) && number > 0)) throw new InvalidArgumentError("It must be a number above 0.");
  return number;
}

/** For names and ids that become part of a path. */
export const segment = (text: string | number): string => encodeURIComponent(text);
