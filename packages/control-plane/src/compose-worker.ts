import type { Client } from "@temporalio/client";
import { createPowerDns } from "#dns/index.ts";
import { imageSettingsOf, imageStoresOf, runImporter } from "#images/index.ts";
import type { Clock } from "#platform/clock.ts";
import { archiveSettingsOf, type Config, required } from "#platform/config.ts";
import type { Db } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import { objectsOf } from "#platform/objects.ts";
import type { Sealer } from "#platform/seal.ts";
import { composeProvider } from "./compose-payments.ts";
import { workerParts } from "./worker-parts.ts";

type Given = { db: Db; clock: Clock; log: Log; temporal: Client; sealer: Sealer };

/** The parts of the worker with the settings of this installation. */
export function composeWorkerParts(config: Config, given: Given) {
  const zone = config.MOORAGE_ZONE;
  return workerParts({
    ...given,
    zone,
    archive: archiveSettingsOf(config),
    objects: objectsOf(config),
    images: imageSettingsOf(config),
    imageStores: imageStoresOf(config),
    runImporter,
    dnsServer: createPowerDns({
      url: required(config, "MOORAGE_DNS_URL"),
      key: required(config, "MOORAGE_DNS_KEY"),
      zone,
    }),
    provider: composeProvider(config),
    hostSilentSeconds: config.MOORAGE_HOST_SILENT_SECONDS,
    changeDeadlineSeconds: config.MOORAGE_CHANGE_DEADLINE_SECONDS,
    restoreDeadlineSeconds: config.MOORAGE_RESTORE_DEADLINE_SECONDS,
    deleteDeadlineSeconds: config.MOORAGE_DELETE_DEADLINE_SECONDS,
    undeleteDays: config.MOORAGE_UNDELETE_DAYS,
    dailyBackupsKept: config.MOORAGE_DAILY_BACKUPS_KEPT,
    closedAccountDays: config.MOORAGE_CLOSED_ACCOUNT_DAYS,
    invoiceDelaySeconds: config.MOORAGE_INVOICE_DELAY_SECONDS,
    accountsEach: config.MOORAGE_INVOICE_RUN_ACCOUNTS,
  });
}
