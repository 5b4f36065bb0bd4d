/**
 * Three months of two accounts, worked out by hand from the price table; written before there was any rating.
 *
 * Per node, in dollars     hour     month   hour suspended   month suspended
 * fx-small  at first       0.0225   15.00   0.0045           3.00
 *           from 10 Feb    0.0250   16.00   0.0050           3.20
 * fx-large  at first       0.0900   60.00   0.0180           12.00
 *           from 16 Mar 12 0.1005   65.00   0.0200           13.00
 *
 * Taxes: Germany VAT 19 %, from 1 March 20 %. Canada GST 5 %, and in Quebec QST 9.975 %.
 * January has 744 hours, February 672, March 744.
 */
type Line = {
  label: string;
  type: "hourly" | "misc";
  from: string;
  to: string;
  quantity: number;
  unit_price: number;
  amount: number;
  tax: number;
  total: number;
};
type Month = {
  month: string;
  lines: readonly Line[];
  subtotal: number;
  tax: number;
  tax_summary: readonly { name: string; tax: number }[];
  total: number;
};

export const prices = {
  "fx-small": {
    first: { hourly: "0.0225", monthly: "15", suspended_hourly: "0.0045", suspended_monthly: "3" },
    from: "2027-02-10T00:00:00Z",
    next: { hourly: "0.025", monthly: "16", suspended_hourly: "0.005", suspended_monthly: "3.2" },
  },
  "fx-large": {
    first: { hourly: "0.09", monthly: "60", suspended_hourly: "0.018", suspended_monthly: "12" },
    from: "2027-03-16T12:00:00Z",
    next: { hourly: "0.1005", monthly: "65", suspended_hourly: "0.02", suspended_monthly: "13" },
  },
} as const;

/** A database that is resized, suspended and resumed; one of three nodes; one that exists for 45 minutes; a credit. */
export const germany: readonly Month[] = [
  {
    month: "2027-01",
    lines: [
      // Active on 5 Jan 10:20, so from 10:00; large on 15 Jan 08:30, so that the hour of 08:00 is the dearer large.
      // 9 days 22 hours = 238 × 0.0225 = 5.355, half a cent goes up: 5.36. VAT 1.0184.
      line("Database shop (fx-small)", "01-05T10", "01-15T08", 238, 0.0225, 5.36, 1.02, 6.38),
      // 16 days 16 hours = 400 × 0.09 = 36. VAT 6.84.
      line("Database shop (fx-large)", "01-15T08", "02-01T00", 400, 0.09, 36, 6.84, 42.84),
      // Active half a minute before the month's end: one hour of 3 × 0.0225 = 0.0675, so 0.07. VAT 0.0133.
      line("Database stats (3 × fx-small)", "01-31T23", "02-01T00", 1, 0.0675, 0.07, 0.01, 0.08),
      // 30 of credit, at most 20 a month, on 41.43. VAT −3.80.
      credit("Credit: Welcome", "01-01T00", "02-01T00", -20, -3.8, -23.8),
    ],
    subtotal: 21.43, // 5.36 + 36.00 + 0.07 − 20.00
    tax: 4.07, // 1.02 + 6.84 + 0.01 − 3.80
    tax_summary: [{ name: "VAT", tax: 4.07 }],
    total: 25.5,
  },
  {
    month: "2027-02",
    lines: [
      // 672 × 0.09 = 60.48, at most 60. VAT 11.40.
      line("Database shop (fx-large)", "02-01T00", "03-01T00", 672, 0.09, 60, 11.4, 71.4),
      // 9 days = 216 × 0.0675 = 14.58. VAT 2.7702.
      line("Database stats (3 × fx-small)", "02-01T00", "02-10T00", 216, 0.0675, 14.58, 2.77, 17.35),
      // 456 × 0.075 = 34.20; with 14.58 that is 48.78, above the higher cap of 3 × 16 = 48: 33.42. VAT 6.3498.
      line("Database stats (3 × fx-small)", "02-10T00", "03-01T00", 456, 0.075, 33.42, 6.35, 39.77),
      // From 14:05 to 14:50: an hour of 0.025, half a cent goes up: 0.03. VAT 0.0057.
      line("Database brief (fx-small)", "02-11T14", "02-11T15", 1, 0.025, 0.03, 0.01, 0.04),
      // What is left of 30. VAT −1.90.
      credit("Credit: Welcome", "02-01T00", "03-01T00", -10, -1.9, -11.9),
    ],
    subtotal: 98.03, // 60.00 + 14.58 + 33.42 + 0.03 − 10.00
    tax: 18.63, // 11.40 + 2.77 + 6.35 + 0.01 − 1.90
    tax_summary: [{ name: "VAT", tax: 18.63 }],
    total: 116.66,
  },
  {
    month: "2027-03",
    lines: [
      // Suspended on 10 Mar 12:40; that hour still ran. 9 days 13 hours = 229 × 0.09 = 20.61. VAT, now 20 %: 4.122.
      line("Database shop (fx-large)", "03-01T00", "03-10T13", 229, 0.09, 20.61, 4.12, 24.73),
      // 5 days 23 hours = 143 × 0.018 = 2.574. VAT 0.514.
      line("Database shop (fx-large, suspended)", "03-10T13", "03-16T12", 143, 0.018, 2.57, 0.51, 3.08),
      // The new price. 3 days 21 hours = 93 × 0.02 = 1.86. VAT 0.372.
      line("Database shop (fx-large, suspended)", "03-16T12", "03-20T09", 93, 0.02, 1.86, 0.37, 2.23),
      // Resumed on 20 Mar at 09:00 exactly. 11 days 15 hours = 279 × 0.1005 = 28.0395. VAT 5.608.
      line("Database shop (fx-large)", "03-20T09", "04-01T00", 279, 0.1005, 28.04, 5.61, 33.65),
      // Deleted on 3 Mar at 11:00 exactly, which does not start another hour. 59 × 0.075 = 4.425: 4.43. VAT 0.886.
      line("Database stats (3 × fx-small)", "03-01T00", "03-03T11", 59, 0.075, 4.43, 0.89, 5.32),
    ],
    subtotal: 57.51, // 20.61 + 2.57 + 1.86 + 28.04 + 4.43; the credit is used up
    tax: 11.5, // 4.12 + 0.51 + 0.37 + 5.61 + 0.89
    tax_summary: [{ name: "VAT", tax: 11.5 }],
    total: 69.01,
  },
];

/** Two taxes on each line; changes at full hours; caps across a price change, running and suspended. */
export const quebec: readonly Month[] = [
  {
    month: "2027-01",
    lines: [
      // 744 × 0.0225 = 16.74, at most 15. GST 0.75, QST 1.49625.
      line("Database cache (fx-small)", "01-01T00", "02-01T00", 744, 0.0225, 15, 2.25, 17.25),
      // 22 days = 528 × 0.09 = 47.52. GST 2.376, QST 4.74012.
      line("Database orders (fx-large)", "01-10T00", "02-01T00", 528, 0.09, 47.52, 7.12, 54.64),
    ],
    subtotal: 62.52,
    tax: 9.37,
    tax_summary: [
      { name: "GST", tax: 3.13 }, // 0.75 + 2.38
      { name: "QST", tax: 6.24 }, // 1.50 + 4.74
    ],
    total: 71.89,
  },
  {
    month: "2027-02",
    lines: [
      // Large on 3 Feb at 00:00 exactly. 48 × 0.0225 = 1.08. GST 0.054, QST 0.10773.
      line("Database cache (fx-small)", "02-01T00", "02-03T00", 48, 0.0225, 1.08, 0.16, 1.24),
      // 26 days = 624 × 0.09 = 56.16; with 1.08 below 60. GST 2.808, QST 5.60196.
      line("Database cache (fx-large)", "02-03T00", "03-01T00", 624, 0.09, 56.16, 8.41, 64.57),
      // Suspended on 5 Feb at 06:00 exactly. 4 days 6 hours = 102 × 0.09 = 9.18. GST 0.459, QST 0.915705.
      line("Database orders (fx-large)", "02-01T00", "02-05T06", 102, 0.09, 9.18, 1.38, 10.56),
      // 7 days 9 hours = 177 × 0.018 = 3.186. GST 0.1595, QST 0.3182025.
      line("Database orders (fx-large, suspended)", "02-05T06", "02-12T15", 177, 0.018, 3.19, 0.48, 3.67),
      // It ran from 15:10 to 15:45. GST 0.0045, QST 0.0089775.
      line("Database orders (fx-large)", "02-12T15", "02-12T16", 1, 0.09, 0.09, 0.01, 0.1),
      // 16 days 8 hours = 392 × 0.018 = 7.056. GST 0.353, QST 0.704235.
      line("Database orders (fx-large, suspended)", "02-12T16", "03-01T00", 392, 0.018, 7.06, 1.05, 8.11),
    ],
    subtotal: 76.76, // 1.08 + 56.16 + 9.18 + 3.19 + 0.09 + 7.06
    tax: 11.49,
    tax_summary: [
      { name: "GST", tax: 3.83 }, // 0.05 + 2.81 + 0.46 + 0.16 + 0.00 + 0.35
      { name: "QST", tax: 7.66 }, // 0.11 + 5.60 + 0.92 + 0.32 + 0.01 + 0.70
    ],
    total: 88.25,
  },
  {
    month: "2027-03",
    lines: [
      // 15 days 12 hours = 372 × 0.09 = 33.48. GST 1.674, QST 3.33963.
      line("Database cache (fx-large)", "03-01T00", "03-16T12", 372, 0.09, 33.48, 5.01, 38.49),
      // Deleted a second after 23:00 on the last day: 372 × 0.1005 = 37.386; with 33.48 above 65: 31.52.
      // GST 1.576, QST 3.14412.
      line("Database cache (fx-large)", "03-16T12", "04-01T00", 372, 0.1005, 31.52, 4.72, 36.24),
      // 372 × 0.018 = 6.696. GST 0.335, half a cent goes up: 0.34. QST 0.668325.
      line("Database orders (fx-large, suspended)", "03-01T00", "03-16T12", 372, 0.018, 6.7, 1.01, 7.71),
      // 372 × 0.02 = 7.44; with 6.70 above 13, the higher cap while suspended: 6.30. GST 0.315: 0.32. QST 0.628425.
      line("Database orders (fx-large, suspended)", "03-16T12", "04-01T00", 372, 0.02, 6.3, 0.95, 7.25),
    ],
    subtotal: 78, // 33.48 + 31.52 + 6.70 + 6.30
    tax: 11.69,
    tax_summary: [
      { name: "GST", tax: 3.91 }, // 1.67 + 1.58 + 0.34 + 0.32
      { name: "QST", tax: 7.78 }, // 3.34 + 3.14 + 0.67 + 0.63
    ],
    total: 89.69,
  },
];

function line(
  ...[label, from, to, quantity, unit_price, amount, tax, total]: [
    label: string,
    from: string,
    to: string,
    ...numbers: [quantity: number, unitPrice: number, amount: number, tax: number, total: number],
  ]
): Line {
  return { label, type: "hourly", from: hour(from), to: hour(to), quantity, unit_price, amount, tax, total };
}
function credit(label: string, from: string, to: string, amount: number, tax: number, total: number): Line {
  const bounds = { from: hour(from), to: hour(to) };
  return { label, type: "misc", ...bounds, quantity: 1, unit_price: amount, amount, tax, total };
}
function hour(text: string): string {
  return `2027-${text}:00:00`;
}
