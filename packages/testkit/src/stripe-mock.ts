import { spawn } from "node:child_process";
import { join } from "node:path";
import { partsDir } from "./folders.ts";
import { freePort } from "./free-port.ts";

/** The real stripe-mock: it knows the shape of every request and response of Stripe, and remembers nothing. */
export async function startStripeMock() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = spawn(join(partsDir, "bin/stripe-mock"), ["-http-addr", `127.0.0.1:${port}`], { stdio: "ignore" });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  // It first reads the whole description of Stripe's API.
  for (let n = 0; ; n++) {
    const answered = await fetch(url).then(
      () => true,
      () => false,
    );
    if (answered) break;
    if (n === 1800 || server.exitCode !== null) throw new Error("stripe-mock does not answer.");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    url,
    async close() {
      server.kill();
      await ended;
    },
  };
}
