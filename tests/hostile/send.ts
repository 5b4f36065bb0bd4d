import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { HostileRequest } from "./requests.ts";

/** A status; `closed`: the connection ended without one; `silent`: none arrived in time. */
export type Answer = number | "closed" | "silent";

const answerWithinMs = 60_000;
/** We give up on a body that never ends; the server would wait longer. */
const endlessMs = 1000;

/** A connection that is reused while the server keeps it open: most of what is sent here makes the server close it. */
export function createSender(port: number) {
  let socket: Socket | undefined;

  /** Reset, not closed: tens of thousands of closed connections would wait for a minute each. */
  const drop = (): void => {
    socket?.resetAndDestroy();
    socket = undefined;
  };

  async function send({ pieces, pauseMs, endless }: HostileRequest): Promise<Answer> {
    const own = (socket ??= open(port));
    const answered = readAnswer(own, endless === true ? endlessMs : answerWithinMs);
    // If the server answers before the request's end, it would read the next request as the rest of the body.
    let isWhole = false;
    const keeps = answered.then(({ keep }) => keep && isWhole);
    for (const [index, piece] of pieces.entries()) {
      if (index > 0 && pauseMs !== undefined) await sleep(pauseMs);
      if (own.destroyed) break;
      own.write(piece);
    }
    isWhole = endless !== true;
    if (!(await keeps)) drop();
    return (await answered).answer;
  }
  return { send, close: drop };
}

function open(port: number): Socket {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => {});
  return socket;
}

/** The first answer, and whether the connection can be reused after it. */
function readAnswer(socket: Socket, withinMs: number): Promise<{ answer: Answer; keep: boolean }> {
  return new Promise((resolve) => {
    let text = "";
    const end = (answer: Answer, keep = false): void => {
      clearTimeout(late);
      socket.off("data", take).off("close", closed);
      resolve({ answer, keep });
    };
    const late = setTimeout(() => end("silent"), withinMs);
    const closed = (): void => end(statusIn(text) ?? "closed");
    const take = (chunk: Buffer): void => {
      text += chunk.toString("latin1");
      const head = text.indexOf("\r\n\r\n");
      const status = statusIn(text);
      if (head < 0 || status === undefined || status === 100) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < head + 4 + length) return;
      end(status, text.length === head + 4 + length && !/\r\nconnection: close/i.test(text.slice(0, head)));
    };
    socket.on("data", take).on("close", closed);
  });
}

const statusIn = (text: string): number | undefined => {
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
  return status === undefined ? undefined : Number(status);
};
