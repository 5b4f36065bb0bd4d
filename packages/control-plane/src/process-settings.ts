import { logSettings, mandatory } from "@moorage/contract/settings";
import { z } from "zod";
import { closingSettings, surveySettings } from "#account/closing-settings.ts";
import { authSettings } from "#auth/settings.ts";
import { invoicingSettings, issuerSettings } from "#billing/settings.ts";
import { cardsSettings } from "#cards/settings.ts";
import {
  certificateSettings,
  changeSettings,
  healthSettings,
  lockSettings,
  requestSettings,
  restoreSettings,
  retentionSettings,
  zoneSettings,
} from "#databases/model/settings.ts";
import { dnsSettings } from "#dns/settings.ts";
import { gatewaySettings } from "#fleet/settings.ts";
import { imageLinkSettings, imageServerSettings } from "#image-server/settings.ts";
import { imageSettings, imageStoreSettings } from "#images/model/settings.ts";
import { invitationSettings, mailSettings } from "#mail/settings.ts";
import { workerSettings } from "#operations/settings.ts";
import { operatorSettings } from "#operator/settings.ts";
import { cardAdmissionSettings, stripeSettings, webhookSettings } from "#payment-provider/settings.ts";
import { paymentSettings } from "#payments/settings.ts";
import { rateLimitSettings, valkeySettings } from "#platform/limits/settings.ts";
import {
  addressSettings,
  archivePurgeSettings,
  archiveStoreSettings,
  baseSettings,
  databaseSettings,
  drainSettings,
  jobTimeoutSettings,
  keyRingSettings,
  Listen,
  purgeKeySettings,
  requestTimeoutSettings,
  servingSettings,
  shareSettings,
  telemetrySettings,
  temporalSettings,
} from "#platform/settings.ts";

const apiSettings = {
  MOORAGE_API_LISTEN: Listen.prefault("127.0.0.1:18090").describe("Where `api` listens for the front."),
};
const installationSettings = {
  MOORAGE_CELL: z.coerce
    .number()
    .int()
    .min(0)
    .max(1023)
    .default(0)
    .describe("The number of this installation, 0 to 1023, part of every id. It cannot be changed."),
};

/** The settings of each process: exactly those of the capabilities that it runs. It does not get to know any other. */
export const processSettings = {
  api: {
    ...baseSettings,
    ...requestTimeoutSettings,
    ...jobTimeoutSettings,
    ...servingSettings,
    ...shareSettings,
    ...valkeySettings,
    ...rateLimitSettings,
    ...keyRingSettings,
    ...addressSettings,
    ...apiSettings,
    ...operatorSettings,
    ...certificateSettings,
    ...zoneSettings,
    ...requestSettings,
    ...changeSettings,
    ...restoreSettings,
    ...closingSettings,
    ...surveySettings,
    ...issuerSettings,
    ...stripeSettings,
    ...webhookSettings,
    ...paymentSettings,
    ...cardAdmissionSettings,
    ...imageSettings,
    ...imageLinkSettings,
    ...invitationSettings,
  },
  auth: {
    ...baseSettings,
    ...requestTimeoutSettings,
    ...servingSettings,
    ...valkeySettings,
    ...rateLimitSettings,
    ...keyRingSettings,
    ...addressSettings,
    MOORAGE_AUTH_URL: mandatory(addressSettings.MOORAGE_AUTH_URL),
    ...authSettings,
  },
  worker: {
    ...baseSettings,
    ...jobTimeoutSettings,
    ...temporalSettings,
    ...keyRingSettings,
    ...addressSettings,
    ...workerSettings,
    ...imageSettings,
    ...archivePurgeSettings,
    ...dnsSettings,
    ...zoneSettings,
    ...changeSettings,
    ...restoreSettings,
    ...healthSettings,
    ...closingSettings,
    ...invoicingSettings,
    ...stripeSettings,
    ...webhookSettings,
    ...invitationSettings,
    ...mailSettings,
  },
  fleet: {
    ...baseSettings,
    ...jobTimeoutSettings,
    ...keyRingSettings,
    ...gatewaySettings,
    ...certificateSettings,
    ...restoreSettings,
    ...retentionSettings,
    ...lockSettings,
    ...imageStoreSettings,
    ...archiveStoreSettings,
  },
  cards: {
    ...logSettings,
    ...telemetrySettings,
    ...servingSettings,
    ...cardsSettings,
    ...stripeSettings,
    MOORAGE_CARDS_ADMISSION_KEY: mandatory(cardAdmissionSettings.MOORAGE_CARDS_ADMISSION_KEY),
  },
  "image-server": {
    ...baseSettings,
    ...requestTimeoutSettings,
    ...drainSettings,
    ...imageStoreSettings,
    ...imageServerSettings,
  },
  migrate: { ...databaseSettings, ...temporalSettings, ...installationSettings },
};

/** By capability, for docs/operating/settings.md. */
export const settingGroups = {
  "Several processes": { ...baseSettings, ...requestTimeoutSettings, ...jobTimeoutSettings, ...keyRingSettings },
  Installation: { ...installationSettings, ...addressSettings, ...temporalSettings },
  "Serving requests": { ...apiSettings, ...servingSettings, ...shareSettings },
  "Rate limits": { ...valkeySettings, ...rateLimitSettings },
  "Operator's interface": operatorSettings,
  "Signing in": authSettings,
  Mail: { ...invitationSettings, ...mailSettings },
  Databases: { ...requestSettings, ...changeSettings, ...restoreSettings, ...healthSettings, ...certificateSettings },
  DNS: { ...zoneSettings, ...dnsSettings },
  "Object store": { ...archiveStoreSettings, ...purgeKeySettings, ...lockSettings },
  "Operations and jobs": workerSettings,
  Fleet: gatewaySettings,
  Images: imageSettings,
  "Image server": { ...imageLinkSettings, ...imageServerSettings },
  Accounts: { ...closingSettings, ...surveySettings },
  Billing: { ...invoicingSettings, ...issuerSettings },
  Payments: { ...stripeSettings, ...webhookSettings, ...paymentSettings },
  Cards: { ...cardAdmissionSettings, ...cardsSettings },
};
