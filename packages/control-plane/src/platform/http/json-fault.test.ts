import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonFaultOf } from "./request-body.ts";

test.each([
  ["", "line 1, column 1"],
  ["{", "line 1, column 2"],
  ["{label", "line 1, column 2"],
  ["{'label': 1}", "line 1, column 2"],
  ['{"label": }', "line 1, column 11"],
  ['{"label": "orders",}', "line 1, column 20"],
  ['{"label": "orders"', "line 1, column 19"],
  ['{"label" "orders"}', "line 1, column 10"],
  ['{\n  "label": "orders",\n  "type": m1-small\n}', "line 3, column 11"],
  ['{\n  "label": "orders"\n  "type": "m1-small"\n}', "line 3, column 3"],
  ['{"label": "orders}', "line 1, column 11"],
  ['{"label": "a\tb"}', "line 1, column 11"],
  ['{"label": "\\x"}', "line 1, column 11"],
  ["[1, 2", "line 1, column 6"],
  ["[1 2]", "line 1, column 4"],
  ["[1,]", "line 1, column 4"],
  ["[}", "line 1, column 2"],
  ["{}{}", "line 1, column 3"],
  ["{} x", "line 1, column 4"],
  ["01", "line 1, column 2"],
  ["NaN", "line 1, column 1"],
  ["undefined", "line 1, column 1"],
])("%j stops being JSON at %s", (text, place) => {
  expect(jsonFaultOf(text)).toBe(place);
});

test("it finds no fault in valid JSON, in any formatting", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 2, "\t"), (text, indent) => {
      expect(jsonFaultOf(JSON.stringify(JSON.parse(text), null, indent))).toBeUndefined();
    }),
  );
});

test("it finds a fault exactly where the parser does", () => {
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(
      fc.json(),
      fc.nat(),
      fc.constantFrom("", "}", "]", '"', ",", ":", "1", "\\", "x", "\u0000"),
      (text, at, put) => {
        const place = at % (text.length + 1);
        const changed = text.slice(0, place) + put + text.slice(place + 1);
        expect(jsonFaultOf(changed) === undefined).toBe(parses(changed));
      },
    ),
    { numRuns: 2000 },
  );
});

test("a megabyte of brackets or escapes is checked like any other text", () => {
  expect(jsonFaultOf("[".repeat(1_000_000))).toBe("line 1, column 1000001");
  expect(jsonFaultOf(`"${"\\n".repeat(500_000)}`)).toBe("line 1, column 1");
});
