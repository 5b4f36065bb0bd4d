import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { inStack } from "./paths.ts";

export type Probe = () => Promise<boolean>;

const patienceMs = 10_000;

/** Healthy when a GET is answered with one of these statuses (undefined: any status below 500). */
export const answers =
  (url: string, status?: number): Probe =>
  () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const secure = url.startsWith("https:");
    const options = { timeout: patienceMs, ...(secure && { ca: readFileSync(inStack("tls", "ca.pem")) }) };
    const call = (secure ? httpsRequest : httpRequest)(url, options, (reply) => {
      reply.resume();
      const got = reply.statusCode ?? 500;
      resolve(status === undefined ? got < 500 : got === status);
    });
    call.on("timeout", () => call.destroy());
    call.on("error", () => resolve(false));
    call.end();
    return promise;
  };

/** Healthy when a connection is accepted and, if a text is sent, the answer contains the expected text. */
export const converses =
  (to: { host: string; port: number } | { path: string }, say = "", expect = ""): Probe =>
  () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const socket = connect({ ...to, timeout: patienceMs });
    const end = (healthy: boolean): void => {
      socket.destroy();
      resolve(healthy);
    };
    socket.on("connect", () => (expect === "" ? end(true) : socket.write(say)));
    socket.on("data", (chunk: Buffer) => end(chunk.toString().includes(expect)));
    socket.on("timeout", () => end(false));
    socket.on("error", () => end(false));
    return promise;
  };
