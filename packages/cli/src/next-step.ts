import type { Text } from "@moorage/contract/texts";
import type { AdminClient } from "./admin-client.ts";
import { texts } from "./texts.ts";

/** In the order of setting up an installation: each step needs those before it. */
const steps = [
  { path: "/admin/regions", next: texts.noRegions },
  { path: "/admin/plans", next: texts.noPlans },
  { path: "/admin/engines", next: texts.noEngineVersions },
  { path: "/admin/hosts", next: texts.noHosts },
  { path: "/admin/accounts", next: texts.noAccounts },
];

/** Suggests the operator's next step for this installation. */
export async function nextStep(client: AdminClient): Promise<Text> {
  for (const { path, next } of steps) {
    const { data } = await client.get<{ data: unknown[] }>(path);
    if (data.length === 0) return next();
  }
  return texts.installationReady();
}
