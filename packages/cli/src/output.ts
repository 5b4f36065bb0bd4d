import type { Text } from "@moorage/contract/texts";
import type { Command } from "commander";

export type Row = Readonly<Record<string, string | number | boolean | null>>;

export type Output = {
  /** Whether `--json` was given: a program reads the output. */
  isForPrograms(): boolean;
  /** Prints a list, or the hint `whenEmpty`. */
  list<T>(items: readonly T[], rowOf: (item: T) => Row, whenEmpty: Text): void;
  /** Prints the result of a command: as a text or a table for people, as complete JSON for programs. */
  printResult(reply: unknown, result: Text | string): void;
};

export function createOutput(program: Command, print: (text: string) => void): Output {
  const isForPrograms = (): boolean => program.opts<{ json?: true }>().json === true;
  return {
    isForPrograms,
    list(items, rowOf, whenEmpty) {
      if (isForPrograms()) print(JSON.stringify(items, undefined, 2));
      else print(items.length === 0 ? whenEmpty.text : tableOf(items.map(rowOf)));
    },
    printResult(reply, result) {
      const shown = typeof result === "string" ? result : result.text;
      print(isForPrograms() ? JSON.stringify(reply, undefined, 2) : shown);
    },
  };
}

/** Columns are as wide as their widest cell, with two spaces between: easy to read, and to cut with other tools. */
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
