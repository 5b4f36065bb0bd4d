/** What an attacker or a broken program might send. For the tests, whose list has the fields named here. */
export function hostileHeaders(): string[] {
  const asJson = (filters: readonly unknown[]) => filters.map((filter) => JSON.stringify(filter));
  return [
    ...injections.flatMap((text) =>
      asJson([
        { label: text },
        { label: { "+contains": text } },
        { label: { "+or": [text, { "+gt": text }] } },
        { id: text },
        { [text]: 1 },
        { label: { [text]: 1 } },
        { "+order_by": text },
        { "+order_by": "id", "+order": text },
      ]),
    ),
    ...oddities.flatMap((value) => [
      `{"id": ${value}}`,
      `{"price": {"+lt": ${value}}}`,
      `{"entity.id": {"+gt": ${value}}}`,
      `{"label": {"+contains": ${value}}}`,
      `{"public": ${value}}`,
      `{"created": {"+gte": ${value}}}`,
      `{"+and": ${value}}`,
      `{"+order_by": ${value}}`,
    ]),
    ...asJson(
      ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "then"].flatMap((key) => [
        JSON.parse(`{"${key}": {"label": "a"}}`) as unknown,
        JSON.parse(`{"label": {"${key}": "a"}}`) as unknown,
        { "+order_by": key },
      ]),
    ),
    ...dates.map((date) => JSON.stringify({ created: { "+lte": date } })),
    ...broken,
    ...deep,
  ];
}

const injections = [
  "'; drop table things; --",
  "' or '1'='1",
  '" or ""="',
  "id) or 1=1 --",
  "$1",
  "${1+1}",
  "1; select pg_sleep(10)",
  "\\'; select 1 --",
  "%' escape '%",
  "%_".repeat(500),
  `^(a+)+$${"a".repeat(40)}!`,
  "a\u0000b",
  "\ud800",
  "\u202e\uffff😀",
  "things.id",
];

const oddities = [
  "1e999",
  "-1e999",
  "1e308",
  "5e-324",
  "9223372036854775808",
  "123456789012345678901234567890.123456789",
  "-0",
  '"0x10"',
  '"1e5"',
  '"NaN"',
  '"Infinity"',
  `"${"9".repeat(2000)}"`,
  "true",
  "null",
  "[]",
  "{}",
  "[[1]]",
  '{"+neq": {"+neq": 1}}',
];

const dates = [
  "0000-01-01T00:00:00",
  "0001-01-01T00:00:00+14:00",
  "9999-12-31T23:59:59-14:00",
  "9999-12-31T23:59:59",
  "2026-02-29T00:00:00",
  "2026-01-31T24:00:00",
  "2026-01-31T23:59:60",
  "infinity",
  "now",
  "epoch",
  "294277-01-01",
  "-4713-01-01T00:00:00",
];

const broken = [
  "{",
  "}",
  "nul",
  "null",
  "[]",
  "1",
  '"label"',
  "{'label': 'a'}",
  '{"label": "a"} {"label": "b"}',
  '{"label": "a"}, {"label": "b"}',
  '{"label": "a",}',
  '{"label": NaN}',
  '{"label": undefined}',
  '{"label": "a" /* all */}',
  '{"label": "\u0000"}',
  "\ufeff{}",
  "\u00ff\u00fe{",
  "x".repeat(8192),
  `{}${" ".repeat(8191)}`,
];

const levels = (open: string, close: string, count: number): string => open.repeat(count) + close.repeat(count);
const listOf = (element: string, count: number): string => Array.from({ length: count }, () => element).join(",");

const deep = [
  levels("[", "]", 4000),
  levels('{"+and":[', "]}", 700),
  levels('{"+or":[', "]}", 19),
  levels('{"+or":[', "]}", 700),
  `{"label":${levels('{"+or":[', "]}", 700)}}`,
  `{"label":${levels('{"+or":[', "]}", 18)}}`,
  `{"label":${levels('{"+neq":', "}", 600)}}`,
  `{"+or":[${listOf("{}", 2700)}]}`,
  `{"+or":[${listOf('{"+or":[]}', 700)}]}`,
  `{"id":{"+or":[${listOf("1", 3000)}]}}`,
  `{"label":{"+or":[${listOf('{"+contains":"a"}', 100)}]}}`,
  `{"label":{"+and":[${listOf('{"+contains":""}', 100)}]}}`,
  `{"+and":[${listOf('{"entity.id":{"+gt":1}}', 100)}]}`,
  `{"label":{"+contains":"${"a".repeat(8100)}"}}`,
  `{${listOf('"label":"a"', 600)}}`,
];
