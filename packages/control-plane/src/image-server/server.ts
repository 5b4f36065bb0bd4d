import { finished, Readable } from "node:stream";
import type { ImageFormat } from "@moorage/contract/operator";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ImageStores } from "#images/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { readiness, type ReadinessDeps } from "#platform/http/readiness.ts";
import { refuse } from "#platform/http/refuse.ts";
import { createServer } from "#platform/http/server.ts";
import type { Log } from "#platform/log.ts";
import { gzipBody, rawBody, readRange } from "./body.ts";
import { openContent } from "./image-content.ts";
import type { ImageServerMetrics } from "./image-server-metrics.ts";
import { findImageToSend, type ImageToSend, storesWith } from "./image-to-send-store.ts";
import { judgeLink, type Link } from "./link.ts";
import { texts } from "./texts.ts";

export type ImageServerDeps = {
  db: Db;
  clock: Clock;
  log: Log;
  stores: ImageStores;
  metrics: ImageServerMetrics;
  key: string;
  /** The region of this server. */
  region: string | undefined;
};
export type ImageServerOptions = ReadinessDeps & {
  /** How many images are sent at once. */
  streams: number;
  /** A client that reads nothing for this long is disconnected. */
  idleMs?: number;
};

const IDLE_MS = 120_000;
type ImageRoute = { Params: { id: string } };

/** Sends images to the hosts that deploy them: to every holder of an address that the operator signed. */
export function createImageServer(deps: ImageServerDeps, serving: ImageServerOptions): FastifyInstance {
  const app = createServer(deps.log, { connectionTimeout: serving.idleMs ?? IDLE_MS });
  readiness(app, serving);
  const takeStreamSlot = createStreamSlots(serving.streams, deps.metrics);

  app.route<ImageRoute>({
    method: ["GET", "HEAD"],
    url: "/images/:id",
    exposeHeadRoute: false,
    async handler(request, reply) {
      const judged = judgeLink(deps.key, request.params.id, request.query, deps.clock());
      if (judged.kind === "refused") throw new DomainError("forbidden", { reason: judged.reason });
      const image = await findImageToSend(deps.db, judged.link.imageId);
      // A client that disconnected meanwhile has been closed already, and would keep its place for ever.
      if (reply.raw.destroyed) return reply.hijack();
      if (image === undefined) throw notFound();
      if (request.method === "GET") takeStreamSlot(reply);
      return judged.link.format === "raw"
        ? sendRaw(deps, request, reply, image, judged.link)
        : sendGzip(deps, request, reply, image, judged.link);
    },
  });
  return app;
}

function createStreamSlots(most: number, metrics: ImageServerMetrics): (reply: FastifyReply) => void {
  let taken = 0;
  const count = (change: 1 | -1): void => {
    taken += change;
    metrics.open(taken);
  };
  return (reply) => {
    if (taken >= most) throw new DomainError("unavailable", { reason: texts.serverBusy({ max: most }) });
    count(1);
    // After a long response an idle connection would delay the server's shutdown.
    reply.header("connection", "close");
    // Closed, not finished: a client that disconnects frees its place too.
    reply.raw.once("close", () => count(-1));
  };
}

async function sendRaw(
  deps: ImageServerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  image: ImageToSend,
  link: Link,
): Promise<FastifyReply> {
  const { rawBytes, rawSha256 } = image;
  const tag = `"${rawSha256.toString("hex")}"`;
  const ifRange = request.headers["if-range"];
  const requested = ifRange === undefined || ifRange === tag ? readRange(request.headers.range, rawBytes) : undefined;
  reply
    .header("accept-ranges", "bytes")
    .header("etag", tag)
    .header("repr-digest", `sha-256=:${rawSha256.toString("base64")}:`);
  if (requested === "none") {
    reply.header("content-range", `bytes */${rawBytes}`);
    return refuse(reply, 416, texts.rangeBeyondEnd({ bytes: rawBytes }));
  }
  const part = requested ?? { from: 0, to: rawBytes };
  if (requested !== undefined)
    reply.status(206).header("content-range", `bytes ${part.from}-${part.to - 1}/${rawBytes}`);
  reply.header("content-type", "application/octet-stream").header("content-length", part.to - part.from);
  if (request.method === "HEAD") return reply.send();
  const content = await openContent(deps, image, await storesFor(deps, link));
  return reply.send(streamOf(deps, reply, "raw", rawBody(image, content, part)));
}

async function sendGzip(
  deps: ImageServerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  image: ImageToSend,
  link: Link,
): Promise<FastifyReply> {
  // The length is not known beforehand, so only chunked encoding distinguishes a complete response from a cut one.
  if (request.raw.httpVersion === "1.0") return refuse(reply, 505, texts.httpVersionUnsupported());
  reply.header("accept-ranges", "none").header("content-type", "application/gzip");
  if (request.method === "HEAD") return reply.send();
  const content = await openContent(deps, image, await storesFor(deps, link));
  return reply.send(streamOf(deps, reply, "gzip", gzipBody(image, content)));
}

/** The nearest store first, then every other that has the image. */
async function storesFor({ db, stores, region: own }: ImageServerDeps, { imageId, region = own }: Link) {
  const names = await storesWith(db, imageId);
  const nearest = region === undefined ? undefined : stores.of(region);
  return stores.all
    .filter(({ name }) => names.includes(name))
    .sort((one, other) => Number(other === nearest) - Number(one === nearest));
}

/** The reader sets the pace. An error breaks the connection, so that the client notices the missing bytes. */
function streamOf(
  { metrics, log }: ImageServerDeps,
  reply: FastifyReply,
  format: ImageFormat,
  body: AsyncGenerator<Buffer>,
): Readable {
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      metrics.sent(format, chunk.length);
      yield chunk;
    }
  };
  const stream = Readable.from(counted());
  let fault: Error | undefined;
  stream.once("error", (error) => {
    fault = error;
    log.error({ err: error }, "an image could not be sent completely");
  });
  finished(reply.raw, (error) => {
    const outcome = fault !== undefined ? "broken" : error === undefined || error === null ? "whole" : "left";
    metrics.ended(format, outcome);
  });
  return stream;
}
