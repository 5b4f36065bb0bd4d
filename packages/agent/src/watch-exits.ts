import { setTimeout as sleep } from "node:timers/promises";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { z } from "zod";
import { nodeLabel, type Podman } from "./podman.ts";

const Exit = z.object({ Actor: z.object({ Attributes: z.record(z.string(), z.string()) }) });

/** Reports a dead server at once. Only a hint: the reconciler checks every node every few seconds anyway. */
export async function watchExits(
  { client }: Podman,
  ended: (node: string) => void,
  signal: AbortSignal,
): Promise<void> {
  // No filter by label: podman matches only labels with a given value.
  const filters = JSON.stringify({ type: ["container"], event: ["died"] });
  while (!signal.aborted) {
    try {
      const events = (await client.getEvents({ filters })) as Readable;
      const end = () => events.destroy();
      signal.addEventListener("abort", end, { once: true });
      for await (const line of createInterface({ input: events })) {
        const node = Exit.safeParse(JSON.parse(line)).data?.Actor.Attributes[nodeLabel];
        if (node !== undefined) ended(node);
      }
      signal.removeEventListener("abort", end);
    } catch {
      // podman's service is restarting, or the agent is closing
    }
    await sleep(1000, undefined, { signal }).catch(() => {});
  }
}
