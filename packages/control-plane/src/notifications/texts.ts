import { defineTexts, text } from "@moorage/contract/texts";

/** The list of notifications uses these as templates of SQL's `format`, with `%s` as the label. */
export const texts = defineTexts("notification", {
  outage: text(({ region }: { region: string }) => `Outage in ${region}`, { region: "Frankfurt" }),
  rebootScheduled: text(() => "Reboot scheduled"),
  migrationScheduled: text(() => "Migration scheduled"),
  reboot: text(({ label }: { label: string }) => `${label} will be rebooted.`, { label: "web" }),
  coldMigration: text(
    ({ label }: { label: string }) => `${label} will be shut down, moved to another host and started again.`,
    { label: "web" },
  ),
  liveMigration: text(({ label }: { label: string }) => `${label} will be moved to another host while it runs.`, {
    label: "web",
  }),
  patchPending: text(() => "Database patch pending"),
  patch: text(
    ({ label }: { label: string }) =>
      `${label} will be updated to a newer image of its engine in its next maintenance window. To update it earlier, request the patch (POST …/patch).`,
    { label: "orders" },
  ),
});
