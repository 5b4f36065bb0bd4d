import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { Writable } from "node:stream";

/** What a command sees of the world around it. */
export type Terminal = {
  env: Readonly<Record<string, string | undefined>>;
  /** A line of the answer. */
  print(line: string): void;
  /** A line beside the answer, which a program that reads the answer does not get. */
  printError(line: string): void;
  write(bytes: Uint8Array): void;
  /** How far something is. In a terminal each line replaces the one before; undefined ends it. */
  progress(line: string | undefined): void;
  /** Everything that is piped in. */
  input(): Promise<string>;
  /** Typed without being shown, or piped in. */
  secret(question: string): Promise<string>;
  /** What a person types in answer. Undefined: nobody is there to ask. */
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

/** Where lines cannot be replaced, the same one is not said twice. */
function withoutRepeats(printLine: (line: string) => void): Terminal["progress"] {
  let before: string | undefined;
  return (line) => {
    if (line !== undefined && line !== before) printLine(line);
    before = line;
  };
}
