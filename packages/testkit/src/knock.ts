import { connect, type Socket } from "node:net";

export type Place = { host: string; port: number; localAddress?: string };
export type Outcome = "open" | "refused" | "silent";

const tickMs = 50;

/**
 * Connects to a place. Time in which this process did not run is not counted: what arrived meanwhile is read before the
 * place counts as silent.
 */
export function knock(place: Place, withinMs: number): Promise<{ outcome: Outcome; socket: Socket }> {
  return new Promise((resolve) => {
    const socket = connect(place);
    let leftMs = withinMs;
    const timer = setInterval(() => {
      leftMs -= tickMs;
      if (leftMs <= 0) end("silent");
    }, tickMs);
    const end = (outcome: Outcome): void => {
      clearInterval(timer);
      resolve({ outcome, socket });
    };
    socket.once("connect", () => end("open"));
    socket.once("error", () => end("refused"));
  });
}
