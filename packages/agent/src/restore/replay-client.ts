import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { PassThrough, type Readable, type Writable } from "node:stream";
import type { NodeContext } from "../node-context.ts";
import { runCommand } from "../run-command.ts";
import { runPipe } from "./run-pipe.ts";
import type { Workplace } from "./workplace.ts";

/** `--binary-mode`: bytes are passed as they are, and no line of a tenant's text is a command to the client. */
const mysql = [
  "mysql --no-defaults --user=root --socket=/run/mysqld/sql.sock",
  "--binary-mode --max-allowed-packet=1G --batch --skip-column-names --unbuffered --skip-reconnect",
].join(" ");

/** The server did not take what a log says. */
export class ReplayRefused extends Error {
  override readonly name = "ReplayRefused";
}

export type ReplayClient = {
  input: Writable;
  /** When all that was written until now has been executed. */
  executed: () => Promise<void>;
  /** Why it ended, if it did before it was told to. */
  end: () => Promise<void>;
};

/**
 * The image's `mysql`, inside of the throw-away server's container, one for all logs. Its input comes through a named
 * pipe: the text of an encrypted database is never on a disk, and nothing between here and there looks for keys to
 * detach in it.
 */
export async function openReplayClient(
  { podman }: NodeContext,
  work: Workplace,
  signal: AbortSignal,
): Promise<ReplayClient> {
  await rm(work.replay, { force: true });
  await runCommand("mkfifo", ["-m", "600", work.replay]);
  const exec = await podman.client.getContainer(work.container).exec({
    Cmd: ["sh", "-c", `exec ${mysql} </run/mysqld/replay`],
    User: "0:0",
    AttachStdout: true,
    AttachStderr: true,
  });
  const output = (await exec.start({})) as Readable;
  signal.addEventListener("abort", () => output.destroy(), { once: true });
  const [answers, errors] = [new PassThrough(), new PassThrough()];
  podman.client.modem.demuxStream(output, answers, errors);
  let errorOutput = "";
  errors.setEncoding("utf8").on("data", (text: string) => {
    errorOutput = (errorOutput + text).slice(-2000);
  });
  // Opening the pipe waits for its reader: in a process of its own, so that nothing else waits with it.
  const pipe = runPipe('exec cat >"$1"', [work.replay], signal);
  const ended = new Promise<void>((resolve) => output.once("close", resolve)).then(async () => {
    pipe.end();
    signal.throwIfAborted();
    const { ExitCode } = await exec.inspect();
    if (ExitCode !== 0) throw new ReplayRefused(errorOutput.trim() || `mysql ended with ${ExitCode}.`);
  });
  ended.catch(() => {}); // told to whoever asks next

  let marksSent = 0;
  const waiting = new Map<string, () => void>();
  createInterface({ input: answers }).on("line", (line) => waiting.get(line)?.());
  return {
    input: pipe.stdin,
    async executed() {
      const mark = `moorage ${++marksSent}`;
      const seen = new Promise<void>((resolve) => waiting.set(mark, resolve));
      // A log that was cut has left its own delimiter, and the number of its last transaction, behind.
      pipe.stdin.write(`\nDELIMITER ;\nSET @@SESSION.GTID_NEXT = 'AUTOMATIC';\nSELECT '${mark}';\n`);
      await Promise.race([seen, ended.then(() => Promise.reject(new ReplayRefused("mysql ended before its input.")))]);
      waiting.delete(mark);
    },
    async end() {
      pipe.stdin.end();
      await ended;
    },
  };
}
