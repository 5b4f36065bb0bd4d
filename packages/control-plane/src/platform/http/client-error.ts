import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

const refusals: Record<string, readonly [status: number, reason: string]> = {
  HPE_HEADER_OVERFLOW: [431, "The headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "The request did not arrive in time."],
};

/** Input that the HTTP parser refuses reaches no route, so the response is written by hand, in JSON like all others. */
export function answerBytesThatAreNoRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const [status, reason] = refusals[error.code ?? ""] ?? [400, "Not an HTTP request."];
  const body = JSON.stringify({ errors: [{ reason }] });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  if (socket.writable) socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  else socket.destroy();
}
