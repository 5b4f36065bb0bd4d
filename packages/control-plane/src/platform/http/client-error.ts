import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Text } from "@moorage/contract/texts";
import { texts } from "./texts.ts";

const refusals: Record<string, readonly [status: number, reason: Text]> = {
  HPE_HEADER_OVERFLOW: [431, texts.headersTooLarge()],
  ERR_HTTP_REQUEST_TIMEOUT: [408, texts.tooSlow()],
};

/** Input that the HTTP parser refuses reaches no route, so the response is written by hand, in JSON like all others. */
export function answerBytesThatAreNoRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const [status, reason] = refusals[error.code ?? ""] ?? [400, texts.notHttp()];
  const body = JSON.stringify({ errors: [{ reason: reason.text }] });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  if (socket.writable) socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  else socket.destroy();
}
