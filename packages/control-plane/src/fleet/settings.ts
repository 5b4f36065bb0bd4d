import { z } from "zod";
import { Listen } from "#platform/settings.ts";

export const gatewaySettings = {
  MOORAGE_FLEET_LISTEN: Listen.prefault("127.0.0.1:18443").describe("Where `fleet` listens for hosts, with TLS."),
  MOORAGE_FLEET_METRICS_LISTEN: Listen.prefault("127.0.0.1:18094").describe(
    "Where `fleet` serves metrics: hosts reach its other address and must not read them.",
  ),
  MOORAGE_FLEET_TLS_DIR: z
    .string()
    .describe(
      "The folder with the certificate of `fleet` (`server.pem`, `server.key`) and the authority that signs hosts (`ca.pem`, `ca.key`).",
    )
    .meta({ reads: ["server.pem", "server.key", "ca.pem", "ca.key"] }),
};
