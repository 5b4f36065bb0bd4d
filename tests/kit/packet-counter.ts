import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import type { ClientMachine } from "./client.ts";

const run = promisify(execFile);

/**
 * Counts the packets from a client in the node's namespace, before any rule there: the packets that reached the node.
 */
export async function countPackets(node: string, from: ClientMachine) {
  const table = `seen_${from.namespace.replaceAll("-", "_")}`;
  const inside = [`--net=/run/netns/moor-n-${node.slice(0, 8)}`, "--", "nft"];
  await nft(
    inside,
    `table inet ${table}
delete table inet ${table}
table inet ${table} {
  counter seen { }
  chain arriving {
    type filter hook prerouting priority -300; policy accept;
    ip saddr ${from.address} counter name seen
    ip6 saddr ${from.address6} counter name seen
  }
}
`,
  );
  return {
    async seen(): Promise<number> {
      const { stdout } = await run("nsenter", [...inside, "-j", "list", "counter", "inet", table, "seen"]);
      const { nftables } = JSON.parse(stdout) as { nftables: { counter?: { packets: number } }[] };
      const counter = nftables.find((each) => each.counter !== undefined)?.counter;
      if (counter === undefined) throw new Error("The counter is not there.");
      return counter.packets;
    },
    [Symbol.asyncDispose]: () => nft(inside, `delete table inet ${table}\n`),
  };
}

function nft(inside: readonly string[], text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn("nsenter", [...inside, "-f", "-"], { stdio: ["pipe", "ignore", "inherit"] });
  child.once("error", reject);
  child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`nft ended with ${code}`))));
  child.stdin.end(text);
  return promise;
}
