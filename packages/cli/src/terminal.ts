import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { Writable } from "node:stream";

/** All that a command can access of its environment. */
export type Terminal = {
  env: Readonly<Record<string, string | undefined>>;
  /** Prints a line to standard output. */
  print(line: string): void;
  /** Prints a line to standard error, which a program that reads the output does not get. */
  printError(line: string): void;
  write(bytes: Uint8Array): void;
  /** Shows progress. In a terminal each line replaces the previous one; undefined ends it. */
  progress(line: string | undefined): void;
  /** All of standard input. */
  input(): Promise<string>;
  /** Reads from the terminal without echo, or from a pipe. */
  secret(question: string): Promise<string>;
  /** Reads a line from the terminal. Undefined: not interactive. */
  prompt(question: string): Promise<string | undefined>;
};

export function createTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  const beside = (line: string): void => void stderr.write(`${line}\n`);
  return {
    env: process.env,
    print: (line) => void stdout.write(`${line}\n`),
    printError: beside,
    write: (bytes) => void stdout.write(bytes),
    progress: stderr.isTTY ? (line) => void stderr.write(`\r\x1b[K${line ?? ""}`) : withoutRepeats(beside),
    input: () => text(stdin),
    async secret(question) {
      if (!stdin.isTTY) return (await text(stdin)).trim();
      stderr.write(question);
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
      const reader = createInterface({ input: stdin, output: silent, terminal: true });
      const answer = await reader.question("");
      reader.close();
      stderr.write("\n");
      return answer.trim();
    },
    async prompt(question) {
      if (!stdin.isTTY || !stderr.isTTY) return undefined;
      const reader = createInterface({ input: stdin, output: stderr });
      const answer = await reader.question(question);
      reader.close();
      return answer.trim();
    },
  };
}

/** Where lines cannot be replaced, repeated lines are skipped. */
function withoutRepeats(printLine: (line: string) => void): Terminal["progress"] {
  let before: string | undefined;
  return (line) => {
    if (line !== undefined && line !== before) printLine(line);
    before = line;
  };
}
