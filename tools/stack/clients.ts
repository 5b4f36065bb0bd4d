import { inNetwork4, inNetwork6, netName } from "./addresses.ts";

/** Two client machines, so that an allow list can admit one and refuse the other. */
export const clients = {
  a: { namespace: netName("client-a"), address: inNetwork4(1, 1), address6: inNetwork6("c", 1) },
  b: { namespace: netName("client-b"), address: inNetwork4(1, 2), address6: inNetwork6("c", 2) },
} as const;
