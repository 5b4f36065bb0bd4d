import type { Command } from "commander";

export type Row = Readonly<Record<string, string | number | boolean | null>>;

export type Output = {
  /** Whether a program reads it. */
  isForPrograms(): boolean;
  /** A list, or what to do when there is nothing in it yet. */
  list<T>(items: readonly T[], rowOf: (item: T) => Row, whenEmpty: string): void;
  /** What came of a command: in words for people, whole for programs. */
  printResult(reply: unknown, text: string): void;
};

export function createOutput(program: Command, print: (text: string) => void): Output {
  const isForPrograms = (): boolean => program.opts<{ json?: true }>().json === true;
  return {
    isForPrograms,
    list(items, rowOf, whenEmpty) {
      if (isForPrograms()) print(JSON.stringify(items, undefined, 2));
      else print(items.length === 0 ? whenEmpty : tableOf(items.map(rowOf)));
    },
    printResult(reply, text) {
      print(isForPrograms() ? JSON.stringify(reply, undefined, 2) : text);
    },
  };
}

/** Columns as wide as their widest cell, two spaces between: easy to read, and to cut with other tools. */
export function tableOf(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [names.map((name) => name.toUpperCase()), ...rows.map((row) => names.map((name) => cellOf(row[name])))];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cellOf(value: Row[string] | undefined): string {
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}
