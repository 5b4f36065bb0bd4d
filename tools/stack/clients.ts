import { inNetwork6 } from "./addresses.ts";

/** Two places to connect from, so that an allow list can admit one and refuse the other. */
export const clients = {
  a: { namespace: "moor-client-a", address: "10.127.1.1", address6: inNetwork6("c", 1) },
  b: { namespace: "moor-client-b", address: "10.127.1.2", address6: inNetwork6("c", 2) },
} as const;
