/** Runs in a client's namespace: tries to open one TCP connection, and prints the result. */
import { connect } from "node:net";

const [host = "", port = "", patienceMs = ""] = process.argv.slice(2);
const socket = connect({ host, port: Number(port), timeout: Number(patienceMs) });
let printed = false;
const printResult = (what: string): void => {
  if (!printed) console.log(what);
  printed = true;
  socket.destroy();
};
socket.once("connect", () => printResult("open"));
// After a stall the timer is served before the answer that has arrived meanwhile.
socket.once("timeout", () => setImmediate(() => printResult("silent")));
socket.once("error", () => printResult("refused"));
