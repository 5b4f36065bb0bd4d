import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import type { ClusterViews } from "./views.ts";

/** What the gates of this host, its agent and its people ask. `undefined`: no such cluster here. */
export type ProxyQueries = {
  mayBePrimary: (node: string, ordinal: number) => boolean;
  mayServeReads: (node: string, ordinal: number) => boolean;
  views: (node: string) => ClusterViews | undefined;
};

/**
 * On loopback, for what was not told (`tell-gate.ts`). Gates ask in one word (`lead <own node> <ordinal>` or `read …`: up or down), and an answer that they do not
 * get changes nothing: a gatekeeper that is started again moves nobody. That it is there at all they ask by `/health`, and
 * after a while without an answer they close.
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
