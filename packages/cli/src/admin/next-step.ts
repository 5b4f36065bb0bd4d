import * as contract from "@moorage/contract/operator";
import type { Text } from "@moorage/contract/texts";
import { texts } from "../texts.ts";
import type { AdminClient } from "./admin-client.ts";

/** In the order of setting up an installation: each step needs those before it. */
const steps = [
  { list: contract.listRegions, next: texts.noRegions },
  { list: contract.listPlans, next: texts.noPlans },
  { list: contract.listEngines, next: texts.noEngineVersions },
  { list: contract.listHosts, next: texts.noHosts },
  { list: contract.listAccounts, next: texts.noAccounts },
];

/** Suggests the operator's next step for this installation. */
export async function nextStep(client: AdminClient): Promise<Text> {
  for (const { list, next } of steps) if ((await client.all(list, {})).length === 0) return next();
  return texts.installationReady();
}
