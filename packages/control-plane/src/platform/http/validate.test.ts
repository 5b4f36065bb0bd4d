import { expect, test } from "vitest";
import { z } from "zod";
import { DomainError } from "#platform/errors.ts";
import { validate, validPartOf } from "./validate.ts";

const schema = z.object({
  label: z.string({ error: "a string" }),
  updates: z.object({ hour: z.int({ error: "0 to 23" }) }),
  allow_list: z.array(z.ipv4("an address")),
  nodes: z.array(z.object({ port: z.int({ error: "a port" }) })),
});

const errorsOf = (input: unknown) => {
  try {
    validate(schema, input);
  } catch (error) {
    if (error instanceof DomainError) return { kind: error.kind, errors: error.errors };
    throw error;
  }
  return undefined;
};

test("every fault is named at once: dotted for objects, indexed for lists", () => {
  const input = { label: 7, updates: { hour: "x" }, allow_list: ["10.0.0.1", "nonsense"], nodes: [{ port: "x" }] };

  expect(errorsOf(input)).toEqual({
    kind: "invalid",
    errors: [
      { field: "label", reason: "label must be a valid value: a string" },
      { field: "updates.hour", reason: "updates.hour must be a valid value: 0 to 23" },
      { field: "allow_list[1]", reason: "allow_list[1] must be a valid value: an address" },
      { field: "nodes[0].port", reason: "nodes[0].port must be a valid value: a port" },
    ],
  });
});

test("a missing field is reported as required, also inside of an object", () => {
  expect(errorsOf({ updates: {}, allow_list: [], nodes: [] })?.errors).toEqual([
    { field: "label", reason: "label is required" },
    { field: "updates.hour", reason: "updates.hour is required" },
  ]);
});

test("null is a wrong value, not a missing one", () => {
  expect(errorsOf({ label: null, updates: null, allow_list: [], nodes: [] })?.errors).toMatchObject([
    { field: "label", reason: "label must be a valid value: a string" },
    { field: "updates" },
  ]);
});

test.each([[[]], ["text"], [7], [null]])("%j is refused as no object, without a field", (input) => {
  expect(errorsOf(input)?.errors).toEqual([{ reason: "The body must be a JSON object." }]);
});

test("text that the database cannot store unchanged is refused, by its field", () => {
  const texts = z.object({ label: z.string(), list: z.array(z.string()) });
  expect(() => validate(texts, { label: "a\0b", list: ["ok", "ab\ud800cd"] })).toThrow(
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
