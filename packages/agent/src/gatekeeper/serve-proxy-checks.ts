import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import type { ClusterViews } from "./gatekeeper-client.ts";

/** Queries of this host's proxies, its agent and its administrators. `undefined`: no such cluster here. */
export type ProxyQueries = {
  mayBePrimary: (node: string, ordinal: number) => boolean;
  mayServeReads: (node: string, ordinal: number) => boolean;
  views: (node: string) => ClusterViews | undefined;
};

/**
 * Serves on loopback, for changes that `applyVerdicts` could not push. Proxies send one line (`primary <own node>
 * <ordinal>` or `read …`) and get `up` or `down`; without an answer they keep their state, so a restarted gatekeeper
 * moves nobody. They poll `/health` too, and close after a while without an answer.
 */
export async function serveProxyChecks(queries: ProxyQueries, ports: { http: number; agentCheck: number }) {
  const judge = (kind: string | undefined, node = "", ordinal = ""): boolean =>
    kind === "primary"
      ? queries.mayBePrimary(node, Number(ordinal))
      : kind === "read" && queries.mayServeReads(node, Number(ordinal));

  const agentCheck = createServer((socket) => {
    socket.setTimeout(2000, () => socket.destroy());
    socket.on("error", () => {});
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      const end = text.indexOf("\n");
      if (end < 0 && text.length < 200) return;
      socket.end(judge(...(text.slice(0, end).split(" ") as [string])) ? "up\n" : "down\n");
    });
  });
  const http = createHttpServer((req, res) => {
    const [, kind, node, ordinal] = (req.url ?? "").split("/");
    if (kind === "health") return void res.end("here\n");
    if (kind === "primary" || kind === "read")
      return void res.writeHead(judge(kind, node, ordinal) ? 200 : 503, { connection: "close" }).end();
    const views = kind === "views" ? queries.views(node ?? "") : undefined;
    if (views === undefined) return void res.writeHead(404).end();
    res.setHeader("content-type", "application/json").end(JSON.stringify(views));
  });
  await Promise.all([listen(agentCheck, ports.agentCheck), listen(http, ports.http)]);
  return {
    close(): void {
      agentCheck.close();
      http.close();
      http.closeAllConnections();
    },
  };
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => void server.once("error", reject).listen(port, "127.0.0.1", resolve));
