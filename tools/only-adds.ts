/**
 * Whether a migration is invisible to older code: it only adds tables with their indexes, and columns that an insert
 * need not name and nothing else depends on.
 */
export function onlyAdds(migration: string): boolean {
  const statements = migration
    .replaceAll(/--.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim().replaceAll(/\s+/g, " "))
    .filter(Boolean);
  const made = new Set(statements.flatMap((statement) => /^create table (\w+)/i.exec(statement)?.[1] ?? []));
  return statements.every((statement) => {
    const indexed = /^create (?:unique )?index \w+ on (\w+)/i.exec(statement)?.[1];
    if (indexed !== undefined) return made.has(indexed);
    return /^create (table|sequence) /i.test(statement) || addsFreeColumns(statement);
  });
}

function addsFreeColumns(statement: string): boolean {
  const [, columns] = /^alter table \w+ (add column .+)$/i.exec(statement) ?? [];
  return columns !== undefined && columns.split(/, (?=add |drop |alter )/i).every(isFree);
}

/** Nullable or with a default, and without a constraint. */
const isFree = (change: string): boolean =>
  /^add column (if not exists )?\w+ /i.test(change) &&
  !/\b(unique|primary|references|check|generated|constraint)\b/i.test(change) &&
  (/\bdefault\b/i.test(change) || !/\bnot null\b/i.test(change));
