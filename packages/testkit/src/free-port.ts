import { createServer } from "node:net";

const given = new Set<number>();

/** A port below the ephemeral range, each only once: there it is still free when a server starts a moment later. */
export async function freePort(address = "127.0.0.1"): Promise<number> {
  for (;;) {
    const port = 25_000 + Math.floor(Math.random() * 7_000);
    if (given.has(port)) continue;
    const free = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.once("error", () => resolve(false));
      server.listen(port, address, () => server.close(() => resolve(true)));
    });
    if (!free) continue;
    given.add(port);
    return port;
  }
}
