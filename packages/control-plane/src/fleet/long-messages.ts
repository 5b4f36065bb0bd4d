import type { FastifyReply, FastifyRequest } from "fastify";
import { DomainError } from "#platform/errors.ts";
import { callingHost, type CallingDeps } from "./calling-host.ts";
import { texts } from "./texts.ts";

/** Shorter bodies are read at once, like those of all other routes. */
const LONG = 1024 * 1024;
/** An agent sends one report and one list of archived logs at a time. Long bodies are held in memory. */
const [OF_A_HOST, OF_ALL] = [2, 8];

/**
 * Runs before a long body is read: only a host that may call now is read, and few at once. Others get an answer and lose
 * their connection, so that the rest of the body is not received.
 */
export function admitLongMessages(deps: CallingDeps) {
  /** The hosts whose long messages are being read or handled, each as often as it has one. */
  const reading: number[] = [];

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { id } = await callingHost(deps, request);
    if (reading.length >= OF_ALL || reading.filter((host) => host === id).length >= OF_A_HOST)
      throw new DomainError("unavailable", { reason: texts.tooManyLong({ ofHost: OF_A_HOST, ofAll: OF_ALL }) });
    // A caller that hung up meanwhile sends no more.
    if (reply.raw.closed) return;
    reading.push(id);
    reply.raw.once("close", () => reading.splice(reading.indexOf(id), 1));
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    // A body that comes in pieces has no length.
    if (Number(request.headers["content-length"] ?? Infinity) <= LONG) return;
    await admit(request, reply).catch((refusal: unknown) => {
      reply.header("connection", "close");
      throw refusal;
    });
  };
}
