import { z } from "zod";
import { Listen } from "#platform/settings.ts";

export const cardsSettings = {
  MOORAGE_CARDS_LISTEN: Listen.prefault("127.0.0.1:18098").describe("Where `cards` listens for the front."),
  MOORAGE_CARDS_METRICS_LISTEN: Listen.prefault("127.0.0.1:18099").describe(
    "Where `cards` serves metrics, which are not public.",
  ),
  MOORAGE_CARDS_ADMISSION_URL: z.url().describe("Where `cards` reaches the card admission listener of `api`."),
};
