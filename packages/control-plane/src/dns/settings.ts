import { z } from "zod";

export const dnsSettings = {
  MOORAGE_DNS_URL: z
    .url()
    .describe(
      "PowerDNS's HTTP API, such as `http://127.0.0.1:8081`: on this machine, as the server or as a TLS proxy to it.",
    )
    .meta({ peer: "loopback" }),
  MOORAGE_DNS_KEY: z.string().min(1).describe("The `api-key` of PowerDNS.").meta({ secret: true }),
};
