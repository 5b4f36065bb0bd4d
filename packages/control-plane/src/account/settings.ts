import type { AccountSettings, AccountSettingsChange } from "@moorage/contract";
import { type Principal, saveAccountColumns } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { type AccountRow, lockAccount, recordAccountChange, requireOpen } from "./account-store.ts";

/** Clients store these for compute instances, which do not exist here; the values are only kept. */
export const viewOfSettings = ({
  backups_enabled,
  network_helper,
}: Pick<AccountRow, "backups_enabled" | "network_helper">): AccountSettings => ({
  backups_enabled,
  longview_subscription: null,
  managed: false,
  network_helper,
  object_storage: "disabled",
});

export const updateSettings = (
  { db, clock }: { db: Db; clock: Clock },
  by: Principal,
  change: AccountSettingsChange,
): Promise<AccountSettings> =>
  db.transaction().execute(async (tx) => {
    const before = requireOpen(await lockAccount(tx, by.accountId));
    const account = await saveAccountColumns(tx, by.accountId, {
      backups_enabled: change.backups_enabled ?? before.backups_enabled,
      network_helper: change.network_helper ?? before.network_helper,
    });
    const detail = { backups_enabled: account.backups_enabled, network_helper: account.network_helper };
    await recordAccountChange(tx, by, {
      audited: "update_account_settings",
      event: "account_settings_update",
      account,
      at: clock(),
      detail,
    });
    return viewOfSettings(account);
  });
