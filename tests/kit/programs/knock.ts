/** Runs in a client's namespace: tries to open one TCP connection, and prints the result. */
import { connect } from "node:net";

const [host = "", port = "", patienceMs = ""] = process.argv.slice(2);
const socket = connect({ host, port: Number(port), timeout: Number(patienceMs) });
const printResult = (what: string): void => {
  console.log(what);
  socket.destroy();
};
socket.once("connect", () => printResult("open"));
socket.once("timeout", () => printResult("silent"));
socket.once("error", () => printResult("refused"));
