import { applyFirewall, isFirewallApplied } from "../access/firewall-steps.ts";
import type { StepTable } from "../base/run-steps.ts";
import { agreeOnCredentials, memberSteps } from "../replication/member-steps.ts";
import { baselineStep } from "./baseline-steps.ts";
import type { ProvisionContext } from "./provision-context.ts";

/** For a running member that is not in its group as desired. Firewall first: revoked clients are cut off at once. */
export const groupSteps: StepTable<ProvisionContext> = {
  name: "group",
  steps: [
    { name: "firewall", percent: 20, done: isFirewallApplied, run: applyFirewall },
    ...memberSteps,
    baselineStep,
    { name: "credentials", percent: 100, run: agreeOnCredentials },
  ],
};
