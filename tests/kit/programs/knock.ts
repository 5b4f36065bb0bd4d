/** Runs in a client's namespace: tries to open one TCP connection, and prints the result. */
import { knock } from "@moorage/testkit/knock.ts";

const [host = "", port = "", patienceMs = ""] = process.argv.slice(2);
const { outcome, socket } = await knock({ host, port: Number(port) }, Number(patienceMs));
console.log(outcome);
socket.destroy();
