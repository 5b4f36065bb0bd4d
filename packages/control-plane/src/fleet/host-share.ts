import type { TLSSocket } from "node:tls";
import type { FastifyInstance } from "fastify";
import { refuse } from "#platform/http/refuse.ts";
import { texts } from "./texts.ts";

/** An agent of 46 nodes has one request in flight for each of them at most, and a few of its own. */
const OF_A_HOST = 128;
const RETRY_AFTER_SECONDS = 1;

/**
 * Refuses what one certificate has in flight beyond its share, before the body is read and the database is asked, so
 * that a host cannot take the gateway from the others. Requests without a valid certificate cost less: they are refused
 * before any work, or enrol.
 */
export function limitEachHost(app: FastifyInstance): void {
  const inFlight = new Map<string, number>();
  app.addHook("onRequest", (request, reply, done) => {
    const socket = request.raw.socket as TLSSocket;
    if (!socket.authorized) return done();
    const { fingerprint256: host } = socket.getPeerCertificate();
    const count = inFlight.get(host) ?? 0;
    if (count >= OF_A_HOST) {
      reply.header("retry-after", RETRY_AFTER_SECONDS);
      void refuse(reply, 503, texts.tooManyOfHost({ most: OF_A_HOST }));
      return;
    }
    inFlight.set(host, count + 1);
    reply.raw.once("close", () => {
      const left = (inFlight.get(host) ?? 1) - 1;
      if (left === 0) inFlight.delete(host);
      else inFlight.set(host, left);
    });
    done();
  });
}
