import { moorage } from "../../kit/moorage.ts";
import { until } from "../../kit/until.ts";

/** For ever. It is refused until they are silent for long enough to be believed. */
export async function callDead(hosts: readonly number[]): Promise<void> {
  for (const name of hosts.map((host) => `host-${host}`))
    await until(`${name} is believed to be dead`, 120, async () =>
      (await moorage("host", "dead", name)).includes("is dead"),
    );
}
