import { Listen } from "#platform/settings.ts";

export const authSettings = {
  MOORAGE_AUTH_LISTEN: Listen.prefault("127.0.0.1:18096").describe("Where `auth` listens for the front."),
  MOORAGE_AUTH_METRICS_LISTEN: Listen.prefault("127.0.0.1:18097").describe(
    "Where `auth` serves metrics, which are not public.",
  ),
};
