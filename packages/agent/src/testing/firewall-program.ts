import { createServer } from "node:net";
import { knock } from "@moorage/testkit/knock.ts";
import { serveCalls } from "@moorage/testkit/namespace-program.ts";
import { pino } from "pino";
import { createFirewall, type Firewall } from "../firewall/firewall.ts";
import { allowForwarding, makeNetwork, nodeNetwork, removeNetwork } from "../node/network.ts";

// The firewall of a host, without the rest of its agent. Runs inside the host's namespace.
let firewall: Firewall | undefined;
const opened = (): Firewall =>
  firewall ?? (firewall = createFirewall({ log: pino({ level: process.env["FIREWALL_LOG"] ?? "silent" }) }));

async function stop(): Promise<void> {
  await firewall?.stop();
  firewall = undefined;
}

export const functions = {
  start: async (specs: Parameters<Firewall["start"]>[0]) => {
    await stop();
    await opened().start(specs);
  },
  stop,
  open: async (spec: Parameters<Firewall["open"]>[0]) => {
    await opened().open(spec);
  },
  close: (spec: Parameters<Firewall["close"]>[0]) => opened().close(spec),
  isVouchedFor: (spec: Parameters<Firewall["isVouchedFor"]>[0]) => opened().isVouchedFor(spec),
  vouchFor: (spec: Parameters<Firewall["vouchFor"]>[0]) => opened().vouchFor(spec),
  /** From the host itself, which can route to its nodes. */
  reaches: async (host: string, port: number, localAddress?: string): Promise<boolean> => {
    const place = { host, port, ...(localAddress !== undefined && { localAddress }) };
    const { outcome, socket } = await knock(place, 1000);
    socket.destroy();
    return outcome === "open";
  },
  /** A process of the host that accepts connections and sends nothing. */
  listen: (port: number) => new Promise<void>((resolve) => void createServer().listen(port, "::", resolve)),
  allowForwarding,
  allowPeers: (spec: Parameters<Firewall["allowPeers"]>[0]) => opened().allowPeers(spec),
  allowsPeers: (spec: Parameters<Firewall["allowsPeers"]>[0]) => opened().allowsPeers(spec),
  disallowPeers: (spec: Parameters<Firewall["disallowPeers"]>[0]) => opened().disallowPeers(spec),
  makeNode: (node: string, address: string, hostAddress?: string) =>
    makeNetwork(nodeNetwork(node, address, hostAddress)),
  removeNode: (node: string, address: string) => removeNetwork(nodeNetwork(node, address)),
};

serveCalls(functions);
