/** The pages for tenants about billing and compute instances. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rate } from "../../packages/control-plane/src/billing/index.ts";
import { served } from "../../packages/control-plane/src/testing/served.ts";
import { newWorld } from "../../packages/control-plane/src/testing/world.ts";
import { newCompute, newInvoice, newMaintenance } from "../every-operation/money.ts";
import { shell, shellBlocks } from "./shell.ts";

const BILLING = "docs/tenants/billing.md";
const COMPUTES = "docs/tenants/compute-instances.md";

test("billing.md: every request is accepted, in the order of the page, up to the cancellation", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const baker = await world.customer();
  await newInvoice(world, baker.accountId);
  await using tenant = await shell({ MOORAGE_URL: api.url.replace(/\/$/, ""), MOORAGE_TOKEN: baker.token });

  let output = "";
  for (const { code } of shellBlocks(BILLING)) output += await tenant.paste(code);

  for (const shown of ["10,2,12]", '"A database",500', "true,", '"4242"', "https://", ",25]", "survey_link"])
    expect(output).toContain(shown);
  expect((await readFile(join(tenant.folder, "invoice.pdf"))).subarray(0, 5).toString()).toBe("%PDF-");
  expect(await readFile(join(tenant.folder, "invoice.csv"), "utf8")).toContain("A database");
  expect(await world.as(baker.token).get("/v4/account")).toMatchObject({ status: 401 });
});

test("compute-instances.md: every request is accepted, in the order of the page", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const [baker, other] = [await world.customer(), await world.customer()];
  const compute = await newCompute(world, baker.accountId);
  await newMaintenance(world, baker.accountId, compute);
  const tokens = { MOORAGE_TOKEN: baker.token, OTHER_TOKEN: other.token };
  await using tenant = await shell({ MOORAGE_URL: api.url.replace(/\/$/, ""), ...tokens });

  let output = "";
  for (const { code } of shellBlocks(COMPUTES)) output += await tenant.paste(code.replace("1025", String(compute)));

  for (const shown of ['"reboot","pending"', `["pending",{"computes":[${compute}]}`, "{}"])
    expect(output).toContain(shown);
});

test("billing.md: the example's arithmetic is that of the invoices", async () => {
  const cents = (text: string): number => Math.round(Number(text) * 100);
  const rows = (await readFile(BILLING, "utf8")).split("\n").filter((line) => line.startsWith("| "));
  const at = rows.findIndex((row) => row.includes("| hours |"));
  const table = rows.slice(at + 1, at + 5).map((row) => row.split("|").map((cell) => cell.trim()));

  const { lines, subtotal_micros, tax_micros, total_micros } = rate(october);

  expect(table).toHaveLength(4);
  expect(lines.map((line) => [line.quantity, line.amount_micros, line.tax_micros])).toEqual(
    table
      .slice(0, 3)
      .map(([, , hours, , amount = "", tax = ""]) => [Number(hours), cents(amount) * 10_000, cents(tax) * 10_000]),
  );
  expect(lines.map((line) => line.unit_price_micros)).toEqual(
    table.slice(0, 3).map(([, , , price]) => Math.round(Number(price) * 1_000_000)),
  );
  const [, , , , amount = "", tax = ""] = table[3] ?? [];
  expect([subtotal_micros, tax_micros]).toEqual([cents(amount) * 10_000, cents(tax) * 10_000]);
  expect(await readFile(BILLING, "utf8")).toContain(`The invoice is of $${(total_micros / 1_000_000).toFixed(2)}.`);
});

const ever = new Date("2000-01-01T00:00:00Z");
const priceOf = (plan: string, hourly_micros: number, monthly_micros: number) =>
  [
    plan,
    [
      {
        plan,
        valid_from: ever,
        hourly_micros,
        monthly_micros,
        suspended_hourly_micros: 0,
        suspended_monthly_micros: 0,
      },
    ],
  ] as const;
const fact = (sequence: number, at: string, plan: string) => ({
  account_id: 1,
  resource_type: "database" as const,
  resource_id: 1,
  sequence,
  at: new Date(at),
  state: "running" as const,
  plan,
  nodes: 1,
  region: "eu-central",
  label: "orders",
});

/** The values on the page. */
const october: Parameters<typeof rate>[0] = {
  period: { from: new Date("2026-10-01T00:00:00Z"), until: new Date("2026-11-01T00:00:00Z") },
  billTo: { country: "DE", state: "", tax_id: "" },
  facts: [fact(1, "2026-10-10T08:40:00Z", "m1-small"), fact(2, "2026-10-20T12:30:00Z", "m1-medium")],
  prices: new Map([priceOf("m1-small", 22_500, 15_000_000), priceOf("m1-medium", 45_000, 30_000_000)]),
  taxRates: [
    {
      country: "DE",
      state: "",
      name: "VAT",
      valid_from: ever,
      valid_until: null,
      rate_ppm: 190_000,
      waived_by_tax_id: true,
    },
  ],
  credits: [
    {
      account_id: 1,
      id: 1,
      description: "",
      summary: "Welcome",
      service_type: "all",
      image_url: "",
      credit_micros: 60_000_000,
      monthly_cap_micros: 5_000_000,
      granted_at: ever,
      expires_at: null,
      used_micros: 0,
    },
  ],
  adjustments: [],
};
