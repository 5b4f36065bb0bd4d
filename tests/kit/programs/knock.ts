/** Runs in a client's namespace: tries to open one TCP connection, and prints what came of it. */
import { connect } from "node:net";

const [host = "", port = "", patienceMs = ""] = process.argv.slice(2);
const socket = connect({ host, port: Number(port), timeout: Number(patienceMs) });
const say = (what: string): void => {
  console.log(what);
  socket.destroy();
};
socket.once("connect", () => say("open"));
socket.once("timeout", () => say("silent"));
socket.once("error", () => say("refused"));
