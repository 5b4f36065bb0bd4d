import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";

const answersOn = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.end("PING\r\n"));
    socket.on("data", () => resolve(true)).on("error", () => resolve(false));
  });

const opens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.end(() => resolve(true)));
    socket.on("error", () => resolve(false));
  });

/** Files in PEM. Clients must have a certificate of the authority. */
type Tls = { ca: string; certificate: string; key: string };
const tlsSettings = (port: number, { ca, certificate, key }: Tls): string[] => [
  "--port",
  "0",
  "--tls-port",
  String(port),
  "--tls-auth-clients",
  "yes",
  "--tls-ca-cert-file",
  ca,
  "--tls-cert-file",
  certificate,
  "--tls-key-file",
  key,
];

/** A real Valkey for one test, which can be paused, stopped and restarted. */
export async function startValkey(tls?: Tls) {
  const port = await freePort();
  let server: ChildProcess;
  const start = async (): Promise<void> => {
    const listen = tls === undefined ? ["--port", `${port}`] : tlsSettings(port, tls);
    const settings = [...listen, "--bind", "127.0.0.1", "--save", "", "--dir", tmpdir()];
    server = spawn("valkey-server", settings, { stdio: "ignore" });
    const isUp = tls === undefined ? answersOn : opens;
    while (!(await isUp(port))) await sleep(20);
  };
  const stop = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill("SIGKILL");
    await once(server, "exit");
  };
  await start();
  return {
    url: tls === undefined ? `redis://127.0.0.1:${port}` : `rediss://localhost:${port}`,
    start,
    stop,
    pause: () => server.kill("SIGSTOP"),
    async [Symbol.asyncDispose]() {
      server.kill("SIGCONT");
      await stop();
    },
  };
}
