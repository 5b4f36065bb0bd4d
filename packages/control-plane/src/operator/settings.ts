import { z } from "zod";
import { Listen } from "#platform/settings.ts";

export const operatorSettings = {
  MOORAGE_ADMIN_LISTEN: Listen.prefault("127.0.0.1:18091").describe(
    "Where `api` listens for the operator's command line, and serves metrics.",
  ),
  MOORAGE_OPERATOR_TOKEN_SHA256: z
    .hex()
    .length(64)
    .describe('The SHA-256 of the operator\'s token, 64 hexadecimal digits: `printf %s "$TOKEN" | sha256sum`.'),
};
