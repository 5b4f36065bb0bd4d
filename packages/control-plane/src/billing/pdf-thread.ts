import { parentPort, workerData } from "node:worker_threads";
import { type PdfOrder, pdfOf } from "./invoice-pdf.ts";

const { invoice, items, issuer } = workerData as PdfOrder;
const pdf = await pdfOf(invoice, items, issuer);
parentPort?.postMessage(pdf, [pdf.buffer]);
