import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { releaseText } from "./release.ts";

const run = promisify(execFile);

/**
 * Reports to systemd that the process does its work (`Type=notify`); without systemd it does nothing. Node.js has no
 * datagram sockets of the Unix family, so systemd's own program sends the message. A process that cannot report goes on;
 * systemd ends it when its time to start is over.
 */
export async function announceReady(
  log: { error(fields: object, message: string): void },
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  if (env["NOTIFY_SOCKET"] === undefined) return;
  await run("systemd-notify", ["--ready", `--status=Moorage ${releaseText}`], { env }).catch((error: unknown) =>
    log.error({ err: error }, "systemd was not told that the process is ready"),
  );
  // What this process starts has nothing to report.
  delete env["NOTIFY_SOCKET"];
}
