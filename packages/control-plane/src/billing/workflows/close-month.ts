import { proxyActivities } from "@temporalio/workflow";
import type { InvoiceActivities } from "../invoice-activities.ts";
import type { RunKey } from "../billing-run-store.ts";

const { invoiceRun } = proxyActivities<InvoiceActivities>({
  startToCloseTimeout: "1 hour",
  // The time after which a dead worker is noticed.
  heartbeatTimeout: "10 seconds",
  retry: { maximumInterval: "1 minute" },
});

/**
 * Closes the month for a few hundred accounts. It retries without limit: an account without an invoice keeps the run
 * open.
 */
export async function closeMonth(run: RunKey): Promise<void> {
  await invoiceRun(run);
}
