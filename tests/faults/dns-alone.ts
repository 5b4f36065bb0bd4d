import { stop } from "../../tools/stack/control.ts";
import { connectEachSecond, type Connections, doorOf, clientA } from "../kit/client.ts";
import { tenant } from "../kit/tenant.ts";
import { bring, everythingButHosts, labelled, removeAll } from "./outages.ts";
import { defineDrill } from "./drill.ts";
import { trial } from "./trial.ts";

/** The clients' resolvers do not cache, so every connection queries the DNS server. */
export const dnsAlone = defineDrill({
  name: "dns-alone",
  question: "Can clients connect by hostname while everything but the hosts and DNS is stopped?",
  hosts: { least: 3 },
  short: { seconds: 10 },
  long: { seconds: 60 },
  extent: ({ seconds }) => `${seconds} s`,
  run: (run, { seconds }) =>
    trial(
      run,
      `everything but hosts and names stopped for ${seconds} s: a new connection by name each second, 0 failed`,
      async () => {
        // A busy machine needs longer than a second for some of them.
        const least = seconds * 0.5;
        const alice = tenant();
        const machine = clientA();
        const { id } = await alice.createSurely(labelled("names", 1), 60, { allow_list: [machine.address] });
        await alice.untilStatus(id, "active", 120);
        const door = await doorOf(alice, id);
        const names = await everythingButHosts();
        const { made, failed } = await connectWhileStopped();
        if (failed.length > 0 || made < least)
          throw new Error(`${made} connections made, ${failed.length} failed: ${failed[0] ?? ""}`);
        await removeAll(alice, [id]);
        return {
          note: `stopped ${names.join(", ")}: ${made} connections, 0 failed`,
          figures: { counts: { connections: made, failures: failed.length } },
        };

        async function connectWhileStopped(): Promise<Connections> {
          await stop(names);
          try {
            return await connectEachSecond(machine, door, { seconds, least });
          } finally {
            await bring(names);
          }
        }
      },
    ),
});
