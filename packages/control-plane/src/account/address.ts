import { type AccountChange, US_ZIP } from "@moorage/contract";
import { iso31661, iso31662 } from "iso-3166";
import { type ErrorDetail, invalidReason } from "#platform/errors.ts";
import type { Text } from "@moorage/contract/texts";
import { texts } from "./texts.ts";

/** The account's address. Which states and zip codes are valid depends on the country. */
export type Address = { country: string; state: string; zip: string };

const countries = new Set(iso31661.map(({ alpha2 }) => alpha2));
const subdivisionsOf = (country: string): string[] =>
  iso31662.filter(({ parent }) => parent === country).map(({ code }) => code.slice(country.length + 1));

/** Countries with two-letter state codes; for the US this includes territories and the three military codes. */
const states: Readonly<Record<string, { codes: ReadonlySet<string>; valid: () => Text }>> = {
  US: {
    codes: new Set([...subdivisionsOf("US"), "AA", "AE", "AP"]),
    valid: texts.stateUnknownUs,
  },
  CA: {
    codes: new Set(subdivisionsOf("CA")),
    valid: texts.stateUnknownCa,
  },
};

/** The address after a change, as it is stored: codes in capitals, everything else as sent. */
export function addressAfter(before: Address, change: Pick<AccountChange, keyof Address>): Address {
  const country = (change.country ?? before.country).toUpperCase();
  const state = change.state ?? before.state;
  const isCode = states[country]?.codes.has(state.toUpperCase()) === true;
  return { country, state: isCode ? state.toUpperCase() : state, zip: change.zip ?? before.zip };
}

/**
 * The faults of the new address. Only changed fields are checked, and fields that a new country makes invalid: then the
 * fault names the field that must be sent too. A missing state is valid and can be added later.
 */
export function faultsOfAddress(before: Address, after: Address): ErrorDetail[] {
  const moves = after.country !== before.country;
  const isNew = (field: keyof Address): boolean => after[field] !== before[field];
  const faults: ErrorDetail[] = [];
  const refuse = (field: keyof Address, valid: Text): void => {
    faults.push({ field, reason: invalidReason(field, valid) });
  };
  if (moves && !countries.has(after.country)) refuse("country", texts.countryUnknown());
  const ofCountry = states[after.country];
  if (ofCountry !== undefined && isFaultyState(after.state, ofCountry.codes, { moves, isNew: isNew("state") }))
    refuse("state", ofCountry.valid());
  if (after.country === "US" && (moves || isNew("zip")) && !US_ZIP.test(after.zip))
    refuse("zip", texts.zipMalformedUs());
  return faults;
}

function isFaultyState(
  state: string,
  codes: ReadonlySet<string>,
  { moves, isNew }: { moves: boolean; isNew: boolean },
): boolean {
  if (state === "") return isNew;
  return (moves || isNew) && !codes.has(state);
}
