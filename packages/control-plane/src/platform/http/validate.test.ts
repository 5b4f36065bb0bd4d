import { expect, test } from "vitest";
import { z } from "zod";
import { DomainError, invalidReason } from "#platform/errors.ts";
import { texts } from "./texts.ts";
import { validate, validPartOf } from "./validate.ts";

const schema = z.object({
  label: z.string({ error: "a string" }),
  updates: z.object({ hour: z.int({ error: "0 to 23" }) }),
  allow_list: z.array(z.ipv4("an address")),
  nodes: z.array(z.object({ port: z.int({ error: "a port" }) })),
});

const invalidField = (field: string, valid: string) => ({
  field,
  reason: invalidReason(field, texts.invalidField({ valid })),
});
const required = (field: string) => ({ field, reason: texts.required({ field }) });

const errorsOf = (input: unknown) => {
  try {
    validate(schema, input);
  } catch (error) {
    if (error instanceof DomainError) return { kind: error.kind, errors: error.errors };
    throw error;
  }
  return undefined;
};

test("a long list that is refused is not also too short", () => {
  const least = z.object({ ids: z.array(z.int("a number")).min(1, "at least one") });
  const refusals = () => validate(least, { ids: Array.from({ length: 30 }, () => "x") });

  expect(refusals).toThrow(DomainError);
  expect(refusals).not.toThrow("at least one");
});

test("every fault is named at once: dotted for objects, indexed for lists", () => {
  const input = { label: 7, updates: { hour: "x" }, allow_list: ["10.0.0.1", "nonsense"], nodes: [{ port: "x" }] };

  expect(errorsOf(input)).toEqual({
    kind: "invalid",
    errors: [
      invalidField("label", "a string"),
      invalidField("updates.hour", "0 to 23"),
      invalidField("allow_list[1]", "an address"),
      invalidField("nodes[0].port", "a port"),
    ],
  });
});

test("a missing field is reported as required, also inside of an object", () => {
  expect(errorsOf({ updates: {}, allow_list: [], nodes: [] })?.errors).toEqual([
    required("label"),
    required("updates.hour"),
  ]);
});

test("clients know the wording of a missing and of an invalid field", () => {
  expect(errorsOf({ label: 7, updates: {}, allow_list: [], nodes: [] })?.errors.map(({ reason }) => reason)).toEqual([
    { code: "request.invalid_field", text: "label must be a valid value: a string" },
    { code: "request.required", text: "updates.hour is required" },
  ]);
});

test("null is a wrong value, not a missing one", () => {
  expect(errorsOf({ label: null, updates: null, allow_list: [], nodes: [] })?.errors).toMatchObject([
    invalidField("label", "a string"),
    { field: "updates" },
  ]);
});

test.each([[[]], ["text"], [7], [null]])("%j is refused as no object, without a field", (input) => {
  expect(errorsOf(input)?.errors).toEqual([{ reason: texts.notAnObject() }]);
});

test("text that the database cannot store unchanged is refused, by its field", () => {
  const some = z.object({ label: z.string(), list: z.array(z.string()) });
  expect(() => validate(some, { label: "a\0b", list: ["ok", "ab\ud800cd"] })).toThrow(
    expect.objectContaining({
      errors: [expect.objectContaining({ field: "label" }), expect.objectContaining({ field: "list[1]" })],
    }),
  );
});

test("the valid part has the valid fields, and the defaults of omitted ones", () => {
  const some = z.object({ label: z.string(), size: z.int().default(1), region: z.string(), list: z.array(z.string()) });
  expect(validPartOf(some, { label: 7, region: "eu", list: ["a\0b"] })).toEqual({ size: 1, region: "eu" });
  for (const input of ["text", 7, null, [], undefined]) expect(validPartOf(some, input)).toEqual({ size: 1 });
});
