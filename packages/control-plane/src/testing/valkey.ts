import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createSharedLimits, type SharedLimits, type SharedLimitsOptions } from "#platform/limits/shared-limits.ts";
import { createLog } from "#platform/log.ts";
import { freePort } from "./free-port.ts";

const answersOn = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.end("PING\r\n"));
    socket.on("data", () => resolve(true)).on("error", () => resolve(false));
  });

/** A real Valkey for one test, with the limits of any number of processes. */
export async function newValkey() {
  const port = await freePort();
  const open: SharedLimits[] = [];
  let server: ChildProcess;
  const start = async (): Promise<void> => {
    const settings = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--dir", tmpdir()];
    server = spawn("valkey-server", settings, { stdio: "ignore" });
    while (!(await answersOn(port))) await sleep(20);
  };
  const stop = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill("SIGKILL");
    await once(server, "exit");
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    stop,
    pause: () => server.kill("SIGSTOP"),
    /**
     * The limits of one process, once it is connected: until then nothing is shared. They wait long for the server: a
     * process that gives up counts by itself.
     */
    async limits(options: SharedLimitsOptions = {}): Promise<SharedLimits> {
      const log = createLog("test", "silent");
      const shared = createSharedLimits(`redis://127.0.0.1:${port}`, log, { patienceMs: 60_000, ...options });
      open.push(shared);
      const isCold = (): Promise<boolean> =>
        shared.take(["warm"], [{ requests: 1e6, perSeconds: 1 }]).then(
          () => false,
          () => true,
        );
      while (await isCold()) await sleep(10);
      return shared;
    },
    async [Symbol.asyncDispose]() {
      for (const shared of open) shared.close();
      server.kill("SIGCONT");
      await stop();
    },
  };
}
