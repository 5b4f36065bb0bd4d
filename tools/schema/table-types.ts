/** The row types of the tables, for the query builder. */
import { parseSync } from "oxc-parser";

export type Column = {
  table: string;
  name: string;
  /** As `format_type` writes it. */
  type: string;
  nullable: boolean;
  default: string | null;
  /** The check constraints of this column alone. */
  checks: string[];
};

/** `ColumnTypes` of tables.ts by "table.column". A whole type also has what may be inserted and updated. */
export type Narrowed = ReadonlyMap<string, { whole: boolean }>;

/** What the parsers of platform/db/database.ts return. */
const types: Record<string, string> = {
  bigint: "number",
  "bigint[]": "number[]",
  boolean: "boolean",
  bytea: "Buffer",
  cidr: "string",
  date: "string",
  inet: "string",
  integer: "number",
  numeric: "number",
  smallint: "number",
  text: "string",
  "text[]": "string[]",
  "timestamp with time zone": "Date",
  uuid: "string",
};

export function readNarrowed(source: string): Narrowed {
  const { program } = parseSync("tables.ts", source);
  const declared = program.body
    .flatMap((statement) => (statement.type === "ExportNamedDeclaration" ? [statement.declaration] : []))
    .find((each) => each?.type === "TSTypeAliasDeclaration" && each.id.name === "ColumnTypes");
  if (declared?.type !== "TSTypeAliasDeclaration" || declared.typeAnnotation.type !== "TSTypeLiteral")
    throw new Error("tables.ts has no type ColumnTypes.");
  return new Map(
    declared.typeAnnotation.members.flatMap((member) => {
      if (member.type !== "TSPropertySignature" || member.key.type !== "Literal") return [];
      const type = member.typeAnnotation?.typeAnnotation;
      const whole =
        type?.type === "TSTypeReference" && type.typeName.type === "Identifier" && type.typeName.name === "ColumnType";
      return [[String(member.key.value), { whole }]];
    }),
  );
}

/** `check (status in ('a', 'b'))` as PostgreSQL stores it. */
function valuesOf({ name, checks }: Column): string[] | undefined {
  const start = `CHECK ((${name} = `;
  const check = checks.find((each) => each.startsWith(start) && /^(ANY \(ARRAY\[)?'/.test(each.slice(start.length)));
  return check === undefined
    ? undefined
    : [...check.matchAll(/'((?:[^']|'')*)'::text/g)].map(([, value = ""]) => value.replaceAll("''", "'"));
}

function typeOf(column: Column, narrowed: Narrowed): string {
  const key = `${column.table}.${column.name}`;
  const own = narrowed.get(key);
  const named = `ColumnTypes[${JSON.stringify(key)}]`;
  if (own?.whole === true) return named;
  const orNull = column.nullable ? " | null" : "";
  if (column.type === "jsonb") {
    if (own === undefined) throw new Error(`Add the content of ${key} to ColumnTypes of tables.ts: it is JSON.`);
    return `${column.default === null ? "Json" : "DefaultedJson"}<${named}>${orNull}`;
  }
  if (column.default !== null && /^next(_id|val)\(/.test(column.default)) return "Id";
  const values = valuesOf(column)?.map((value) => JSON.stringify(value));
  const type = own === undefined ? (values?.join(" | ") ?? types[column.type]) : named;
  if (type === undefined) throw new Error(`Add the type ${column.type} of ${key} to tools/schema/table-types.ts.`);
  // An insert may leave out a nullable column too.
  return column.default === null || column.nullable ? `${type}${orNull}` : `Generated<${type}>`;
}

/** `columns` are ordered by table. */
export function tableTypes(columns: Column[], narrowed: Narrowed): string {
  const known = new Set(columns.map(({ table, name }) => `${table}.${name}`));
  const lost = [...narrowed.keys()].filter((key) => !known.has(key));
  if (lost.length > 0) throw new Error(`ColumnTypes of tables.ts has what is no column: ${lost.join(", ")}.`);
  const rows = [...Map.groupBy(columns, ({ table }) => table)].map(
    ([table, own]) =>
      `  ${table}: {\n${own.map((each) => `    ${each.name}: ${typeOf(each, narrowed)};\n`).join("")}  };`,
  );
  return `// Generated from the migrations by \`pnpm schema\`.
import type { ColumnType, Generated } from "kysely";
import type { ColumnTypes } from "./tables.ts";

/** From a sequence, and never changed. */
type Id = ColumnType<number, number | undefined, never>;
type Json<T> = ColumnType<T, string, string>;
type DefaultedJson<T> = ColumnType<T, string | undefined, string>;

export type Tables = {
${rows.join("\n")}
};
`;
}
