import { defineTexts, text } from "@moorage/contract/texts";

/** The list of notifications uses these as templates of SQL's `format`, with `%1$s` as the label. */
export const texts = defineTexts("notification", {
  outage: text(({ region }: { region: string }) => `Outage in ${region}`, { region: "Frankfurt" }),
  rebootScheduled: text(() => "Reboot scheduled"),
  migrationScheduled: text(() => "Migration scheduled"),
  reboot: text(({ label }: { label: string }) => `The operator will reboot ${label}.`, { label: "web" }),
  coldMigration: text(
    ({ label }: { label: string }) =>
      `The operator will shut ${label} down, move it to another host and start it again.`,
    { label: "web" },
  ),
  liveMigration: text(
    ({ label }: { label: string }) => `The operator will move ${label} to another host while it runs.`,
    {
      label: "web",
    },
  ),
  patchPending: text(() => "Database patch pending"),
  patch: text(
    ({ label }: { label: string }) =>
      `In the next maintenance window of ${label}, the control plane applies the pending patch and restarts the database; the MySQL version stays the same. To do this earlier: moorage db patch ${label}`,
    { label: "orders" },
  ),
});
