import { connect } from "node:net";
import { text } from "node:stream/consumers";

const answerWithinMs = 2000;

/** Sends one command to a proxy's runtime socket and returns the whole answer. */
export async function queryProxy(path: string, command: string): Promise<string> {
  const socket = connect(path);
  socket.setTimeout(answerWithinMs, () => socket.destroy(new Error("The proxy did not answer.")));
  socket.write(`${command}\n`);
  return (await text(socket)).trim();
}

/** Sends a command whose answer is empty on success. */
export async function configureProxy(path: string, command: string): Promise<void> {
  const answer = await queryProxy(path, command);
  if (answer !== "") throw new Error(`The proxy refused \`${command}\`: ${answer}`);
}

export type ProxyServer = { backend: string; server: string; address: string; port: number };

/** Parses `show servers state`: a version, a header line that begins with #, and a line for each server. */
export function readServers(answer: string): ProxyServer[] {
  const lines = answer.split("\n").filter((line) => line !== "");
  const names =
    lines
      .find((line) => line.startsWith("# "))
      ?.slice(2)
      .split(" ") ?? [];
  const [backend, server, address, port] = ["be_name", "srv_name", "srv_addr", "srv_port"].map((name) =>
    names.indexOf(name),
  );
  const at = (fields: string[], index: number | undefined): string => fields[index ?? -1] ?? "";
  return lines
    .slice(lines.findIndex((line) => line.startsWith("# ")) + 1)
    .map((line) => line.split(" "))
    .map((fields) => ({
      backend: at(fields, backend),
      server: at(fields, server),
      address: at(fields, address),
      port: Number(at(fields, port)),
    }));
}

export type ProxySession = { id: string; source: string };

/** Parses `show sess`: a line for each session; those of clients have `fe=` and the source address. */
export const readSessions = (answer: string): ProxySession[] =>
  [...answer.matchAll(/^(0x[0-9a-f]+): proto=tcpv[46] src=(\S+):\d+ fe=(?:primary|read) /gm)].map(
    ([, id = "", source = ""]) => ({
      id,
      source: source.replace(/^\[(.*)\]$/, "$1"),
    }),
  );
