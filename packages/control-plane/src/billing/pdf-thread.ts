import { parentPort, workerData } from "node:worker_threads";
import { type PdfOrder, pdfOf } from "./invoice-pdf.ts";

const pdf = await pdfOf(workerData as PdfOrder);
parentPort?.postMessage(pdf, [pdf.buffer]);
