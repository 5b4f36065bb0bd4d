import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { PassThrough, type Readable, type Writable } from "node:stream";
import type { NodeContext } from "../node/node-context.ts";
import { runCommand } from "../base/run-command.ts";
import { runPipe } from "./run-pipe.ts";
import type { Workplace } from "./workplace.ts";

/** `--binary-mode`: bytes pass unchanged, and no line of a tenant's text is a client command. */
const mysql = [
  "mysql --no-defaults --user=root --socket=/run/mysqld/sql.sock",
  "--binary-mode --max-allowed-packet=1G --batch --skip-column-names --unbuffered --skip-reconnect",
].join(" ");

/** The server refused a statement of a log. */
export class ReplayRefused extends Error {
  override readonly name = "ReplayRefused";
}

export type ReplayClient = {
  input: Writable;
  /** Resolves when everything written so far has been executed. */
  executed: () => Promise<void>;
  /** Ends the client; throws the reason if it ended by itself before. */
  end: () => Promise<void>;
};

/**
 * The image's `mysql` inside the throw-away server's container, one for all logs. Its input comes through a named pipe:
 * the text of an encrypted database is never on a disk, and podman does not scan it for detach keys.
 */
export async function openReplayClient(
  { podman }: NodeContext,
  work: Workplace,
  signal: AbortSignal,
): Promise<ReplayClient> {
  await rm(work.replay, { force: true });
  await runCommand("mkfifo", ["-m", "600", work.replay]);
  const exec = await podman.client.getContainer(work.container).exec({
    Cmd: ["sh", "-c", `exec ${mysql} </replay/text`],
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
  // Opening a named pipe blocks until it has a reader: done in another process, so that the agent does not block.
  const pipe = runPipe('exec cat >"$1"', [work.replay], signal);
  const ended = new Promise<void>((resolve) => output.once("close", resolve)).then(async () => {
    pipe.end();
    signal.throwIfAborted();
    const { ExitCode } = await exec.inspect();
    if (ExitCode !== 0) throw new ReplayRefused(errorOutput.trim() || `mysql ended with ${ExitCode}.`);
  });
  ended.catch(() => {}); // thrown by the next await

  let marksSent = 0;
  const waiting = new Map<string, () => void>();
  createInterface({ input: answers }).on("line", (line) => waiting.get(line)?.());
  return {
    input: pipe.stdin,
    async executed() {
      const mark = `moorage ${++marksSent}`;
      const seen = new Promise<void>((resolve) => waiting.set(mark, resolve));
      // A cut log leaves its own delimiter and the GTID_NEXT of its last transaction behind.
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
