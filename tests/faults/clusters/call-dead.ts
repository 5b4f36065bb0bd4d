import { until } from "@moorage/testkit/until.ts";
import { moorage } from "../../kit/moorage.ts";

/** Permanent. The command is refused until the hosts have been unreachable for long enough. */
export async function callDead(hosts: readonly number[]): Promise<void> {
  for (const name of hosts.map((host) => `host-${host}`))
    await until(`${name} is believed to be dead`, 120, async () =>
      (await moorage("host", "dead", name)).includes("is dead"),
    );
}
