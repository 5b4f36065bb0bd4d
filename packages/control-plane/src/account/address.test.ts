import fc from "fast-check";
import { expect, test } from "vitest";
import { type Address, addressAfter, faultsOfAddress } from "./address.ts";

const nowhere: Address = { country: "", state: "", zip: "" };
const berlin: Address = { country: "DE", state: "Berlin", zip: "10115" };
const newYork: Address = { country: "US", state: "NY", zip: "10001" };
const toronto: Address = { country: "CA", state: "ON", zip: "M5H 2N2" };

const judged = (before: Address, change: Partial<Address>) => {
  const after = addressAfter(before, change);
  return { after, fields: faultsOfAddress(before, after).map(({ field }) => field) };
};

test.each([
  ["a country of the list", nowhere, { country: "DE" }],
  ["a country in small letters", nowhere, { country: "de" }],
  ["a state, where no country is named", nowhere, { state: "Anywhere" }],
  ["a province elsewhere is free text", berlin, { state: "Brandenburg" }],
  ["a US address as a whole", nowhere, { ...newYork }],
  ["a US state and zip, from elsewhere", berlin, { country: "US", state: "CA", zip: "94105-1234" }],
  ["a state in small letters", newYork, { state: "ca" }],
  ["the capital's district", newYork, { state: "DC" }],
  ["a territory", newYork, { state: "PR" }],
  ["military: Americas", newYork, { state: "AA" }],
  ["military: Europe", newYork, { state: "AE" }],
  ["military: Pacific", newYork, { state: "AP" }],
  ["a US state that is sent later", nowhere, { country: "US", zip: "10001" }],
  ["a Canadian province", nowhere, { ...toronto }],
  ["a Canadian zip", toronto, { zip: "H0H 0H0" }],
  ["the same again", newYork, { ...newYork }],
  ["nothing at all", nowhere, { ...nowhere }],
  ["a zip away, elsewhere", berlin, { zip: "" }],
])("accepted: %s", (_name, before, change) => {
  expect(judged(before, change).fields).toEqual([]);
});

test.each([
  ["a country that is none", nowhere, { country: "XX" }, ["country"]],
  ["a country that is only reserved", nowhere, { country: "UK" }, ["country"]],
  ["no country, after there was one", berlin, { country: "" }, ["country"]],
  ["a US state by its name", newYork, { state: "New York" }, ["state"]],
  ["a Canadian province in the US", newYork, { state: "ON" }, ["state"]],
  ["a US state in Canada", toronto, { state: "NY" }, ["state"]],
  ["the US military in Canada", toronto, { state: "AE" }, ["state"]],
  ["a state away, in the US", newYork, { state: "" }, ["state"]],
  ["a US zip of four digits", newYork, { zip: "1000" }, ["zip"]],
  ["a US zip of nine digits without a hyphen", newYork, { zip: "100012345" }, ["zip"]],
  ["a US zip with three digits behind", newYork, { zip: "10001-234" }, ["zip"]],
  ["a zip away, in the US", newYork, { zip: "" }, ["zip"]],
  ["a move to the US with another's zip", toronto, { country: "US", state: "NY" }, ["zip"]],
  ["a move to the US without a zip", nowhere, { country: "US" }, ["zip"]],
  ["a move to the US with another's state", berlin, { country: "US" }, ["state"]],
  ["a move to Canada with a US state", newYork, { country: "CA" }, ["state"]],
  ["everything at once", toronto, { country: "US", state: "Texas", zip: "x" }, ["state", "zip"]],
])("refused, naming the field to change: %s", (_name, before, change, fields) => {
  expect(judged(before, change).fields).toEqual(fields);
});

test("codes are stored in capitals, other provinces as sent", () => {
  expect(judged(nowhere, { country: "us", state: "ny", zip: "10001" }).after).toEqual(newYork);
  expect(judged(berlin, { state: "ny" }).after.state).toBe("ny");
});

const anyAddress = fc.record({
  country: fc.constantFrom("", "US", "CA", "DE", "XX"),
  state: fc.constantFrom("", "NY", "ON", "AE", "Bayern"),
  zip: fc.constantFrom("", "10001", "10001-2345", "M5H 2N2", "1"),
});
const anyChange = fc.record(
  {
    country: fc.constantFrom("", "us", "US", "ca", "DE", "XX"),
    state: fc.constantFrom("", "ny", "NY", "ON", "AE", "Bayern"),
    zip: fc.constantFrom("", "10001", "M5H 2N2", "1"),
  },
  { requiredKeys: [] },
);

test("a stored or previously accepted address is accepted when it is sent again", () => {
  fc.assert(
    fc.property(anyAddress, anyChange, (before, change) => {
      const { after, fields } = judged(before, change);
      const kept = fields.length === 0 ? after : before;
      expect(faultsOfAddress(kept, addressAfter(kept, kept))).toEqual([]);
    }),
  );
});

test("a refusal names a field that was sent, or one that the new country makes invalid", () => {
  fc.assert(
    fc.property(anyAddress, anyChange, (before, change) => {
      const { after, fields } = judged(before, change);
      const moves = after.country !== before.country;
      for (const field of fields as (keyof Address)[]) expect(change[field] !== undefined || moves).toBe(true);
    }),
  );
});
