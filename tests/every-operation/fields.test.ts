import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Difference, differencesOfSchema, type JsonSchema } from "./compare-fields.ts";
import { deviations, expectedReplies } from "./expected-fields.ts";

type Document = {
  paths: Record<
    string,
    Record<string, { responses: Record<string, { content: Record<string, { schema: JsonSchema }> }> }>
  >;
  components: { schemas: Record<string, JsonSchema> };
};
const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const published = (): Document => JSON.parse(read("openapi.json")) as Document;

const differencesOf = ({ paths, components }: Document): Difference[] =>
  Object.entries(expectedReplies).flatMap(([operation, reply]) => {
    const [method = "", path = ""] = operation.split(" ");
    const described = paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
    const schema = described?.responses["200"]?.content["application/json"]?.schema;
    return schema === undefined
      ? [{ at: operation, is: "is missing" }]
      : differencesOfSchema(schema, reply, components.schemas);
  });
const textsOf = (differences: Difference[]): string[] => [...new Set(differences.map(({ at, is }) => `${at} ${is}`))];

test("the document differs from the interface only where the fixture lists it", () => {
  const listed = deviations.flatMap(({ fields, is }) => fields.map((field) => `${field} ${is}`));
  expect(textsOf(differencesOf(published())).toSorted()).toEqual(listed.toSorted());
});

test("the documentation for tenants lists every difference, with its reason", () => {
  const documented = read("docs/where-the-interface-is-silent.md");
  const rows = deviations.map(
    ({ fields, is, why }) => `| ${fields.map((field) => `\`${field}\``).join(", ")} | ${is} | ${why} |`,
  );
  expect(rows.filter((row) => !documented.includes(row))).toEqual([]);
});

/** Mistakes in the contract that are easy to overlook. */
const drifts: [drift: string, plant: (schemas: Record<string, JsonSchema>) => void, found: string[]][] = [
  [
    "a renamed field",
    ({ Invoice }) => {
      const { tax_summary, ...others } = Invoice?.properties ?? {};
      Object.assign(Invoice as object, {
        properties: { ...others, taxes: tax_summary },
        required: Invoice?.required?.map((name) => (name === "tax_summary" ? "taxes" : name)),
      });
    },
    ["Invoice.taxes is not in the interface", "Invoice.tax_summary is missing"],
  ],
  [
    "a field that has become nullable",
    ({ Login }) => Object.assign(Login?.properties ?? {}, { username: { type: ["string", "null"] } }),
    ["Login.username may be null"],
  ],
  [
    "a closed set with a value more",
    ({ TransferStatus }) =>
      Object.assign(TransferStatus as object, { enum: [...(TransferStatus?.enum ?? []), "expired"] }),
    ["EntityTransfer.status has the value expired"],
  ],
  [
    "a closed set with a value less",
    ({ ImageStatus }) => Object.assign(ImageStatus as object, { enum: ["creating", "available"] }),
    ["Image.status lacks the value pending_upload"],
  ],
  [
    "a field of another type",
    ({ PaymentMethod }) => Object.assign(PaymentMethod?.properties ?? {}, { id: { type: "string" } }),
    ["PaymentMethod.id is string, not integer"],
  ],
  [
    "a field that may be left out",
    ({ Account }) =>
      Object.assign(Account as object, { required: Account?.required?.filter((name) => name !== "euuid") }),
    ["Account.euuid may be missing"],
  ],
];
test.each(drifts)("%s in the document is found", (_drift, plant, found) => {
  const document = published();
  plant(document.components.schemas);
  const before = textsOf(differencesOf(published()));
  expect(textsOf(differencesOf(document)).filter((difference) => !before.includes(difference))).toEqual(found);
});
