import { defineTexts, text } from "@moorage/contract/texts";

/** Regions, plans with their prices, and engine versions. */
export const texts = defineTexts("cli_catalogue", {
  regionSaved: text(
    ({ id }: { id: string }) => `Region ${id} is saved. Next, register its hosts: moorage admin host add --help`,
    { id: "eu-central" },
  ),
  regionDown: text(
    ({ id, message }: { id: string; message: string }) =>
      `Region ${id} is marked as down. Accounts that use it are notified: ${message}`,
    { id: "eu-central", message: "Power is out in one hall." },
  ),
  regionUp: text(({ id }: { id: string }) => `Region ${id} is marked as up.`, { id: "eu-central" }),
  outageActionMissing: text(() => "Start an outage with --message <text>, or end it with --over."),
  planSaved: text(
    ({ id, hourly, monthly }: { id: string; hourly: string; monthly: string }) =>
      `Plan ${id} costs $${hourly} per hour and at most $${monthly} per month.`,
    { id: "m1-small", hourly: "0.0225", monthly: "15.00" },
  ),
  priceSaved: text(
    ({ id, from, hourly, monthly }: { id: string; from: string; hourly: string; monthly: string }) =>
      `From ${from} UTC on, plan ${id} costs $${hourly} per hour and at most $${monthly} per month.`,
    { id: "m1-small", from: "2030-01-01T00:00:00", hourly: "0.025", monthly: "16.50" },
  ),
  noPrices: text(
    ({ id }: { id: string }) => `Plan ${id} has no price. Set one: moorage admin plan price ${id} --help`,
    {
      id: "m1-small",
    },
  ),
  engineVersionSaved: text(
    ({ id }: { id: string }) =>
      `Engine version ${id} is saved. Every host needs its container image and its prepared data directory.`,
    { id: "mysql/9.7.4" },
  ),
  engineImageSaved: text(
    ({ id, databases }: { id: string; databases: number }) =>
      `Engine version ${id} has a new container image. Databases that the control plane restarts with it in their next maintenance windows: ${databases}.`,
    { id: "mysql/9.7.4", databases: 12 },
  ),
});
