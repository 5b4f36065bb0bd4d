import { createServer } from "node:net";

/**
 * A port below the ephemeral range, each only once on the whole machine: there it is still free when a server starts, or
 * starts again, a moment later.
 */
export async function freePort(address = "127.0.0.1"): Promise<number> {
  for (;;) {
    const port = 25_000 + Math.floor(Math.random() * 7_000);
    if ((await isClaimed(port)) && (await isFree(port, address))) return port;
  }
}

/** No other process gets the port until this one ends: the name of an abstract socket is free again then. */
const isClaimed = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const claim = createServer();
    claim.once("error", () => resolve(false));
    claim.listen(`\0moorage-port-${port}`, () => resolve(true)).unref();
  });

const isFree = (port: number, address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, address, () => server.close(() => resolve(true)));
  });
