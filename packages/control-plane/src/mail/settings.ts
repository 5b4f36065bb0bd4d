import { z } from "zod";
import { PositiveInteger } from "#platform/settings.ts";

export const invitationSettings = {
  MOORAGE_INVITATIONS_PER_DAY: PositiveInteger.default(500).describe(
    "How many invitations and confirmations of addresses an account may send in a day (UTC). Also the limit of password links that are requested for its users who have not accepted their invitation.",
  ),
};

export const mailSettings = {
  MOORAGE_SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: "expected a URL with smtp or smtps" })
    .optional()
    .describe(
      "The SMTP server for outgoing mail: `smtp://name:password@host:587` or `smtps://…`; without it mails wait. With it, `MOORAGE_MAIL_FROM` and `MOORAGE_AUTH_URL` are required.",
    )
    .meta({ secret: true, needs: ["MOORAGE_MAIL_FROM", "MOORAGE_AUTH_URL"] }),
  MOORAGE_MAIL_FROM: z
    .string()
    .includes("@")
    .optional()
    .describe("The sender of mails: `Moorage <noreply@example.com>`."),
  MOORAGE_MAILS_PER_RECIPIENT: PositiveInteger.default(10).describe(
    "How many mails an address that nobody has confirmed gets in a day (UTC), of all accounts; others are withheld.",
  ),
};
