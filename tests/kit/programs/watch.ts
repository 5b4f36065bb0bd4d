/**
 * Runs in a client's namespace: tries to connect all the time, and prints when each try began and whether it was
 * admitted.
 */
import { connect } from "node:net";

const { host, port } = JSON.parse(process.argv[2] as string) as { host: string; port: number };
const EVERY_MS = 50;
const PATIENCE_MS = 250;

setInterval(() => {
  const at = Date.now();
  const socket = connect({ host, port, timeout: PATIENCE_MS });
  let printed = false;
  const printResult = (open: boolean): void => {
    if (!printed) console.log(JSON.stringify({ at, open }));
    printed = true;
    socket.destroy();
  };
  socket.once("connect", () => printResult(true));
  // After a stall the timer is served before the answer that has arrived meanwhile.
  socket.once("timeout", () => setImmediate(() => printResult(false)));
  socket.once("error", () => printResult(false));
}, EVERY_MS);
