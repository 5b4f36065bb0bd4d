import { createRequire } from "node:module";
import { buffer } from "node:stream/consumers";
import Pdf from "pdfkit";
import type { BillTo } from "#platform/db/tables.ts";
import type { InvoiceItemRow, InvoiceRow } from "./invoice-store.ts";
import type { Payment } from "./invoice-payment.ts";
import { inDollars } from "./money.ts";

/** The company that issues the invoices. */
export type Issuer = { name: string; address: readonly string[] };
export type PdfOrder = {
  invoice: InvoiceRow;
  items: readonly InvoiceItemRow[];
  issuer: Issuer;
  payment: Payment | undefined;
  /** Rates of its taxes, by name, in millionths. */
  rates: Readonly<Record<string, number>>;
};

type Doc = InstanceType<typeof Pdf>;
type Column = { title: string; width: number; align: "left" | "right"; of: (item: InvoiceItemRow) => string };

/** The standard PDF fonts only have western letters; names use others too. */
const require = createRequire(import.meta.url);
const fonts = {
  plain: require.resolve("dejavu-fonts-ttf/ttf/DejaVuSansCondensed.ttf"),
  bold: require.resolve("dejavu-fonts-ttf/ttf/DejaVuSansCondensed-Bold.ttf"),
};

const MARGIN = 50;
const PAD = 5;
const GREY = "#666666";
const columns: readonly Column[] = [
  {
    title: "Description",
    width: 157,
    align: "left",
    of: ({ label, region }) => [label, region].filter(Boolean).join(", "),
  },
  { title: "From", width: 76, align: "left", of: ({ from_at }) => inMinutes(from_at) },
  { title: "To", width: 76, align: "left", of: ({ to_at }) => inMinutes(to_at) },
  { title: "Quantity", width: 48, align: "right", of: ({ quantity }) => String(quantity) },
  { title: "Price", width: 48, align: "right", of: ({ unit_price_micros }) => inDollars(unit_price_micros) },
  { title: "Amount", width: 50, align: "right", of: ({ amount_micros }) => inDollars(amount_micros) },
  { title: "Tax", width: 40, align: "right", of: ({ tax_micros }) => inDollars(tax_micros) },
];
const TABLE = columns.reduce((sum, { width }) => sum + width, 0);

/** Deterministic until the invoice is paid: nothing depends on the time of rendering. */
export async function pdfOf(order: PdfOrder): Promise<Uint8Array<ArrayBuffer>> {
  const { invoice, items, issuer } = order;
  const doc = new Pdf({
    size: "A4",
    margin: MARGIN,
    bufferPages: true,
    font: fonts.plain,
    lang: "en",
    displayTitle: true,
    info: { Title: invoice.label, Author: issuer.name, CreationDate: invoice.created_at },
  });
  const made = buffer(doc);
  head(doc, invoice, issuer);
  billTo(doc, invoice.bill_to);
  table(doc, items);
  totals(doc, order);
  pageNumbers(doc, invoice);
  doc.end();
  return made;
}

function head(doc: Doc, invoice: InvoiceRow, { name, address }: Issuer): void {
  doc
    .font(fonts.bold)
    .fontSize(16)
    .text(name, MARGIN, MARGIN, { width: TABLE / 2 });
  doc.font(fonts.plain).fontSize(9).fillColor(GREY);
  for (const line of address) doc.text(line, { width: TABLE / 2 });
  const left = doc.y;
  const right = { width: TABLE / 2, align: "right" as const };
  doc
    .fillColor("black")
    .font(fonts.bold)
    .fontSize(16)
    .text(invoice.label, MARGIN + TABLE / 2, MARGIN, right);
  doc.font(fonts.plain).fontSize(9);
  doc.text(`Date: ${dayOf(invoice.created_at)}`, right);
  doc.text(`Period: ${invoice.month} to ${lastDayOf(invoice.until)}`, right);
  doc.y = Math.max(left, doc.y) + 24;
}

function billTo(doc: Doc, to: BillTo): void {
  doc.font(fonts.bold).fontSize(9).text("Bill to", MARGIN, doc.y, { width: TABLE }).font(fonts.plain);
  const lines = [
    to.company,
    `${to.first_name} ${to.last_name}`.trim(),
    to.address_1,
    to.address_2,
    [to.zip, to.city, to.state].filter(Boolean).join(" "),
    countryOf(to.country),
    to.tax_id && `Tax ID: ${to.tax_id}`,
    to.email,
  ];
  for (const line of lines.filter(Boolean)) doc.text(line, { width: TABLE });
  doc.y += 18;
}

function table(doc: Doc, items: readonly InvoiceItemRow[]): void {
  const titles = (): void => {
    doc.font(fonts.bold).fontSize(8);
    row(
      doc,
      columns.map(({ title }) => title),
    );
    doc.font(fonts.plain);
  };
  titles();
  for (const item of items) {
    const cells = columns.map(({ of }) => of(item));
    if (doc.y + heightOf(doc, cells) > bottomOf(doc)) {
      doc.addPage();
      titles();
    }
    row(doc, cells);
  }
}

function row(doc: Doc, cells: readonly string[]): void {
  const { y } = doc;
  const height = heightOf(doc, cells);
  let x = MARGIN;
  for (const [at, { width, align }] of columns.entries()) {
    doc.text(cells[at] ?? "", x, y + PAD, { width: width - PAD, align });
    x += width;
  }
  doc
    .moveTo(MARGIN, y + height)
    .lineTo(MARGIN + TABLE, y + height)
    .lineWidth(0.5)
    .strokeColor("#cccccc")
    .stroke();
  doc.x = MARGIN;
  doc.y = y + height;
}

const heightOf = (doc: Doc, cells: readonly string[]): number =>
  2 * PAD + Math.max(...columns.map(({ width }, at) => doc.heightOfString(cells[at] ?? "", { width: width - PAD })));

const TOTAL = "Total in US dollars";

function totals(doc: Doc, { invoice, payment, rates }: PdfOrder): void {
  const lines: [string, string][] = [
    ["Subtotal", inDollars(invoice.subtotal_micros)],
    ...invoice.tax_summary.map(({ name, tax_micros }): [string, string] => [
      `${name}${percentOf(rates[name])}`,
      inDollars(tax_micros),
    ]),
    [TOTAL, inDollars(invoice.total_micros)],
    ...(payment === undefined ? [] : [lineOf(payment)]),
  ];
  if (doc.y + lines.length * 16 + 12 > bottomOf(doc)) doc.addPage();
  doc.y += 12;
  doc.fontSize(9);
  for (const [name, amount] of lines) {
    const { y } = doc;
    doc.font(name === TOTAL ? fonts.bold : fonts.plain);
    doc.text(name, MARGIN + TABLE - 260, y, { width: 160 });
    doc.text(amount, MARGIN + TABLE - 100, y, { width: 100 - PAD, align: "right" });
    doc.y = Math.max(doc.y, y + 16);
  }
}

const lineOf = (payment: Payment): [string, string] =>
  payment.state === "paid" ? [`Paid on ${dayOf(payment.on)}`, "$0.00 due"] : ["Amount due", inDollars(payment.micros)];

const percentOf = (rate: number | undefined): string => (rate === undefined ? "" : ` ${rate / 10_000} %`);

const countries = new Intl.DisplayNames(["en"], { type: "region" });

function countryOf(code: string): string {
  try {
    return countries.of(code) ?? code;
  } catch {
    return code;
  }
}

function pageNumbers(doc: Doc, { label }: InvoiceRow): void {
  const { count } = doc.bufferedPageRange();
  for (let page = 0; page < count; page++) {
    doc.switchToPage(page);
    // The text is in the bottom margin, where the next page would otherwise begin.
    doc.page.margins.bottom = 0;
    doc.font(fonts.plain).fontSize(8).fillColor(GREY);
    const words = `${label}, page ${page + 1} of ${count}`;
    doc.text(words, MARGIN, doc.page.height - MARGIN + 15, { width: TABLE, align: "right", lineBreak: false });
  }
}

const bottomOf = (doc: Doc): number => doc.page.height - MARGIN;
const dayOf = (at: Date): string => at.toISOString().slice(0, 10);
/** The last day of a period, whose end is exclusive. */
const lastDayOf = (until: Date): string => dayOf(new Date(until.getTime() - 1));
const inMinutes = (at: Date): string => at.toISOString().slice(0, 16).replace("T", " ");
