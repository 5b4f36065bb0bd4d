import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { limitConcurrency } from "#platform/limit-concurrency.ts";
import type { PdfOrder } from "./invoice-pdf.ts";

/**
 * On a thread of its own, one at a time: to lay out an invoice of many lines takes seconds of computing, and the
 * interface answers others meanwhile.
 */
export function createPdfDrawer(): (order: PdfOrder) => Promise<Uint8Array<ArrayBuffer>> {
  const oneAtATime = limitConcurrency({ atOnce: 1, mostWaiting: 20 });
  return (order) =>
    oneAtATime(async () => {
      const thread = new Worker(new URL("./pdf-thread.ts", import.meta.url), { workerData: order });
      // An error of the thread rejects this; whatever comes of it, the thread is gone afterwards.
      try {
        const [pdf] = (await once(thread, "message")) as [Uint8Array<ArrayBuffer>];
        return pdf;
      } finally {
        await thread.terminate();
      }
    });
}
