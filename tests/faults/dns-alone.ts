import { stop } from "../../tools/stack/control.ts";
import { connectEachSecond, type Connections, doorOf, clientA } from "../kit/client.ts";
import { tenant } from "../kit/tenant.ts";
import { bring, everythingButHosts, labelled, removeAll } from "./outages.ts";
import { type Run, trial } from "./trial.ts";

/** The clients' resolvers do not cache, so every connection queries the DNS server. */
export const dnsAlone = (run: Run, seconds: number): Promise<boolean> =>
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
      return `stopped ${names.join(", ")}: ${made} connections, 0 failed`;

      async function connectWhileStopped(): Promise<Connections> {
        await stop(names);
        try {
          return await connectEachSecond(machine, door, { seconds, least });
        } finally {
          await bring(names);
        }
      }
    },
  );
