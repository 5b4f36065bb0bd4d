import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { limitConcurrency } from "#platform/limits/limit-concurrency.ts";
import type { PdfOrder } from "./invoice-pdf.ts";

/**
 * On its own thread, one at a time: laying out an invoice with many lines takes seconds of CPU time, during which the
 * API must answer other requests.
 */
export function createPdfDrawer(): (order: PdfOrder) => Promise<Uint8Array<ArrayBuffer>> {
  const oneAtATime = limitConcurrency({ atOnce: 1, mostWaiting: 20 });
  return (order) =>
    oneAtATime(async () => {
      const thread = new Worker(new URL("./pdf-thread.ts", import.meta.url), { workerData: order });
      // An error of the thread rejects this; the thread is gone afterwards in either case.
      try {
        const [pdf] = (await once(thread, "message")) as [Uint8Array<ArrayBuffer>];
        return pdf;
      } finally {
        await thread.terminate();
      }
    });
}
