import { connect, createServer } from "node:net";
import { pino } from "pino";
import { createGate, type Gate } from "../gate/gate.ts";
import { allowForwarding, makeNetwork, nodeNetwork, removeNetwork } from "../network.ts";
import { serveCalls } from "./namespace-program.ts";

// The gate of a host, without the rest of its agent. Runs inside the host's namespace.
let gate: Gate | undefined;
const opened = (): Gate => gate ?? (gate = createGate({ log: pino({ level: process.env["GATE_LOG"] ?? "silent" }) }));

async function stop(): Promise<void> {
  await gate?.stop();
  gate = undefined;
}

export const functions = {
  start: async (specs: Parameters<Gate["start"]>[0]) => {
    await stop();
    await opened().start(specs);
  },
  stop,
  open: async (spec: Parameters<Gate["open"]>[0]) => {
    await opened().open(spec);
  },
  close: (spec: Parameters<Gate["close"]>[0]) => opened().close(spec),
  isVouchedFor: (spec: Parameters<Gate["isVouchedFor"]>[0]) => opened().isVouchedFor(spec),
  vouchFor: (spec: Parameters<Gate["vouchFor"]>[0]) => opened().vouchFor(spec),
  /** From the host itself, to which its nodes are no secret. */
  reaches: (host: string, port: number, localAddress?: string) =>
    new Promise<boolean>((resolve) => {
      const socket = connect({ host, port, timeout: 500, ...(localAddress !== undefined && { localAddress }) });
      const end = (reached: boolean) => () => {
        socket.destroy();
        resolve(reached);
      };
      socket.once("connect", end(true)).once("error", end(false)).once("timeout", end(false));
    }),
  /** A process of the host that takes connections and says nothing. */
  listen: (port: number) => new Promise<void>((resolve) => void createServer().listen(port, "::", resolve)),
  allowForwarding,
  letPeers: (spec: Parameters<Gate["letPeers"]>[0]) => opened().letPeers(spec),
  letsPeers: (spec: Parameters<Gate["letsPeers"]>[0]) => opened().letsPeers(spec),
  partPeers: (spec: Parameters<Gate["partPeers"]>[0]) => opened().partPeers(spec),
  makeNode: (node: string, address: string, hostAddress?: string) =>
    makeNetwork(nodeNetwork(node, address, hostAddress)),
  removeNode: (node: string, address: string) => removeNetwork(nodeNetwork(node, address)),
};

serveCalls(functions);
