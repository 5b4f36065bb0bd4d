/**
 * Whether a migration makes new tables and leaves every older one as it was: code from before it does not notice. An
 * index counts as a part of its table.
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
    return indexed === undefined ? /^create (table|sequence) /i.test(statement) : made.has(indexed);
  });
}
