import { proxyActivities } from "@temporalio/workflow";
import type { InvoiceActivities } from "../invoice-activities.ts";
import type { RunKey } from "../billing-run-store.ts";

const { invoiceRun } = proxyActivities<InvoiceActivities>({
  startToCloseTimeout: "1 hour",
  // A worker that died is noticed after so long.
  heartbeatTimeout: "10 seconds",
  retry: { maximumInterval: "1 minute" },
});

/** Ends the month for a few hundred accounts. It does not give up: an account that has no invoice keeps it open. */
export async function closeMonth(run: RunKey): Promise<void> {
  await invoiceRun(run);
}
