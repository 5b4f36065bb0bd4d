import { spawn } from "node:child_process";
import { freePort } from "@moorage/testkit/free-port.ts";
import { until } from "@moorage/testkit/until.ts";
import { apiCommand, controlPlaneEnv } from "../../tools/stack/services.ts";

/** Another API process beside the stack's, with separate settings; `log` is an open file. */
export async function startApi(settings: Record<string, string> = {}, log: number | "ignore" = "ignore") {
  const [port, adminPort, admissionPort] = [await freePort(), await freePort(), await freePort()];
  const [program, ...args] = apiCommand() as [string, ...string[]];
  const child = spawn(program, args, {
    env: {
      ...process.env,
      ...controlPlaneEnv("api"),
      MOORAGE_API_LISTEN: `127.0.0.1:${port}`,
      MOORAGE_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      MOORAGE_CARDS_ADMISSION_LISTEN: `127.0.0.1:${admissionPort}`,
      ...settings,
    },
    stdio: ["ignore", log, log],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  await until(`an API process answers on ${port}`, 30, async () => {
    // A process that was left there would answer in its place.
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    return (await fetch(`${url}/health`)).ok;
  });
  return {
    url,
    port,
    pid: child.pid as number,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
