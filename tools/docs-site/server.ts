/** Serves the documentation site of the stack, and of its tests. Any web server can serve the folder. */
import { createReadStream, statSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { site } from "./build.ts";

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** The file of a path, if there is one; "/tenants/" and "/tenants/billing" have one too. */
function fileOf(path: string): string | undefined {
  const names = [path, `${path}.html`, join(path, "index.html")].map((name) => join(site, name));
  return names.find((name) => name.startsWith(`${site}/`) && statSync(name, { throwIfNoEntry: false })?.isFile());
}

function send(reply: ServerResponse, status: number, file: string, path: string): void {
  reply.writeHead(status, {
    "Content-Type": types[extname(file)] ?? "application/octet-stream",
    // The names of these files change with their content.
    "Cache-Control": path.startsWith("/assets/") ? "max-age=31536000, immutable" : "no-cache",
  });
  createReadStream(file)
    .on("error", () => reply.destroy())
    .pipe(reply);
}

function answer(path: string, reply: ServerResponse): void {
  if (path === "/health") {
    reply.end();
    return;
  }
  const file = fileOf(path);
  const notFound = fileOf("/404.html");
  if (file !== undefined) send(reply, 200, file, path);
  else if (notFound !== undefined) send(reply, 404, notFound, path);
  else reply.writeHead(404, { "Content-Type": "text/plain" }).end("The documentation is not built: pnpm docs:build\n");
}

export const serveSite = (port: number): Server =>
  createServer(({ method, url = "/" }, reply) => {
    if (method !== "GET" && method !== "HEAD") {
      reply.writeHead(405).end();
      return;
    }
    try {
      answer(decodeURIComponent(new URL(url, "http://docs").pathname), reply);
    } catch {
      reply.writeHead(400).end();
    }
  }).listen(port, "127.0.0.1");

if (import.meta.main) serveSite(Number(process.env["DOCS_PORT"]));
