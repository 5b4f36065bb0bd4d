import { connect } from "node:net";
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
  reaches: (host: string, port: number) =>
    new Promise<boolean>((resolve) => {
      const socket = connect({ host, port, timeout: 500 });
      const end = (reached: boolean) => () => {
        socket.destroy();
        resolve(reached);
      };
      socket.once("connect", end(true)).once("error", end(false)).once("timeout", end(false));
    }),
  allowForwarding,
  makeNode: (node: string, address: string) => makeNetwork(nodeNetwork(node, address)),
  removeNode: (node: string, address: string) => removeNetwork(nodeNetwork(node, address)),
};

serveCalls(functions);
