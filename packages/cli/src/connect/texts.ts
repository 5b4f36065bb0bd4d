import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("cli_connect", {
  noReplicas: text(
    ({ label }: { label: string }) =>
      `Database ${label} has one node and no replicas. Connect without --read-only: moorage db connect ${label}`,
    { label: "orders" },
  ),
  noHostname: text(
    ({ label, status }: { label: string; status: string }) =>
      `Database ${label} is ${status} and has no hostname yet. See: moorage db show ${label}`,
    { label: "orders", status: "active" },
  ),
  notRunning: text(
    ({ label, status }: { label: string; status: string }) =>
      `Database ${label} is ${status} and accepts no connections. See: moorage db show ${label}`,
    { label: "orders", status: "provisioning" },
  ),
  suspended: text(
    ({ label }: { label: string }) =>
      `Database ${label} is suspended and accepts no connections. Resume the database: moorage db resume ${label} --wait`,
    { label: "orders" },
  ),
  allowListEmpty: text(
    ({ label }: { label: string }) =>
      `No address may connect to ${label}: its allow list is empty. Add your address: moorage db update ${label} --allow-list <address> --wait`,
    { label: "orders" },
  ),
  clientNotStarted: text(
    ({ program, reason }: { program: string; reason: string }) =>
      `${program} cannot be started (${reason}). Install MySQL's client, or name its command: --mysql <command>`,
    { program: "mysql", reason: "spawn mysql ENOENT" },
  ),
  clientIsMariadb: text(
    ({ program }: { program: string }) =>
      `${program} is MariaDB's client, which cannot verify the server's hostname. Install MySQL's client, or name its command: --mysql <command>`,
    { program: "mysql" },
  ),
});
