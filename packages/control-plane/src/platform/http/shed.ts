import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FastifyInstance } from "fastify";
import { createPlaces, type Place, type Share } from "./places.ts";
import { refuse } from "./refuse.ts";
import { texts } from "./texts.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Of a request in flight, on servers that limit how many there are. */
    place: Place | undefined;
  }
}

export type Bounds = {
  maxInFlight: number;
  /** What one account may have of them; without it, all. */
  share?: Share;
  /** The event loop delay that is tolerated, as the mean of half a second. */
  maxLagMs: number;
  /** Work continues after its caller hung up, so it counts as in flight for this long, unless it ends before. */
  abandonedMs?: number;
};

const RESOLUTION_MS = 20;
const SAMPLE_MS = 500;
const RETRY_AFTER_SECONDS = 1;

/** Above a bound a request is refused at once: one that waits in a queue is answered when the caller has given up. */
export function shedLoad(app: FastifyInstance, { maxInFlight, maxLagMs, share, abandonedMs = 10_000 }: Bounds): void {
  const places = createPlaces(maxInFlight, share);
  const lag = watchLag();
  app.decorateRequest("place", undefined);
  app.addHook("onClose", async () => lag.close());

  app.addHook("onRequest", (request, reply, done) => {
    if (request.url === "/health" || request.url === "/ready") return done();
    const place = lag.ms() > maxLagMs ? undefined : places.take();
    if (place === undefined) {
      reply.header("retry-after", RETRY_AFTER_SECONDS);
      void refuse(reply, 503, texts.overloaded());
      return;
    }
    request.place = place;
    // Responses that are written outside of Fastify do not pass its hooks.
    reply.raw.once("finish", place.free);
    reply.raw.once("close", () => {
      if (place.state() === "waiting") place.free();
      if (place.state() === "held") setTimeout(place.free, abandonedMs).unref();
    });
    done();
  });
  app.addHook("onSend", (request, _reply, _payload, done) => {
    request.place?.free();
    done();
  });
}

function watchLag(): { ms(): number; close(): void } {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  let ms = 0;
  const timer = setInterval(() => {
    ms = histogram.count === 0 ? 0 : Math.max(0, histogram.mean / 1e6 - RESOLUTION_MS);
    histogram.reset();
  }, SAMPLE_MS).unref();
  return {
    ms: () => ms,
    close() {
      clearInterval(timer);
      histogram.disable();
    },
  };
}
