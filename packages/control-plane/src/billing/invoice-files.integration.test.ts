import type { Invoice } from "@moorage/contract";
import { textOfPdf } from "@moorage/testkit/pdf-text.ts";
import { expect, test } from "vitest";
import { endMonth, setPrice, used } from "#testing/invoiced.ts";
import { newWorld, type World } from "#testing/world.ts";
import { postPayment } from "./ledger.ts";

async function invoicedWorld(
  labels: readonly string[],
  account: object = { company: "Alice" },
  prepare: (world: World) => Promise<unknown> = async () => {},
) {
  const world = await newWorld();
  await prepare(world);
  world.time.now = new Date("2026-11-01T00:15:00Z");
  await setPrice(world, { hourly: 22_500, monthly: 15_000_000 });
  const alice = await world.customer();
  await world.db.updateTable("accounts").set(account).where("id", "=", alice.accountId).execute();
  for (const label of labels) await used(world, alice.accountId, { from: "2026-10-30T00:00:00Z", label });
  await endMonth(world, "2026-10-01", [alice.accountId]);
  const { data } = (await alice.get<{ data: Invoice[] }>("/v4/account/invoices")).body;
  const download = (form: string) =>
    world.send({
      method: "GET",
      url: `/v4/account/invoices/${data[0]?.id}/${form}`,
      headers: { authorization: `Bearer ${alice.token}` },
    });
  return { world, alice, id: data[0]?.id, download, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

test("the PDF names issuer, account and lines in searchable text, and is reproducible byte for byte", async () => {
  await using fixture = await invoicedWorld(["shop"], {
    company: "Żółw Łódź & Søn",
    zip: "90-001",
    tax_id: "PL5260001246",
  });

  const reply = await fixture.download("pdf");

  expect(reply.headers["content-type"]).toBe("application/pdf");
  const text = textOfPdf(reply.rawPayload);
  for (const part of [
    "Harbour Hosting",
    "20457 Hamburg",
    `Invoice #${fixture.id}`,
    "Date: 2026-11-01",
    "Period: 2026-10-01 to 2026-10-31",
    "Żółw Łódź & Søn",
    "Tax ID: PL5260001246",
    "Database shop (m1-small), eu-central",
    "2026-10-30 00:00",
    "48",
    "$0.0225",
    "$1.08",
    "Total in US dollars",
    "Amount due",
    `Invoice #${fixture.id}, page 1 of 1`,
  ])
    expect(text).toContain(part);
  expect((await fixture.download("pdf")).rawPayload.equals(reply.rawPayload)).toBe(true);
});

test("the PDF shows the rate of each tax, the country's name, and whether it is paid", async () => {
  const [valid_from, valid_until] = [new Date("2020-01-01T00:00:00Z"), null];
  const vat = { country: "DE", state: "", name: "VAT", rate_ppm: 190_000, waived_by_tax_id: false };
  await using fixture = await invoicedWorld(["shop"], { country: "DE" }, (world) =>
    world.db
      .insertInto("tax_rates")
      .values({ ...vat, valid_from, valid_until })
      .execute(),
  );
  const text = async () => textOfPdf((await fixture.download("pdf")).rawPayload);

  expect(await text()).toContain("Germany");
  expect(await text()).toContain("VAT 19 %");
  expect(await text()).toMatch(/Total in US dollars\s+\$1\.29\s+Amount due\s+\$1\.29/);
  const { accountId } = fixture.alice;
  const at = new Date("2026-11-03T09:00:00Z");
  await fixture.world.db
    .transaction()
    .execute((tx) => postPayment(tx, { accountId, source: 1, amountMicros: 1_290_000, at }));
  expect(await text()).toContain("Paid on 2026-11-03");
});

test("a long invoice continues over pages with column titles, and no line is lost", async () => {
  const labels = Array.from({ length: 90 }, (_, n) => `shop-${n}`);
  await using fixture = await invoicedWorld(labels);

  const text = textOfPdf((await fixture.download("pdf")).rawPayload);

  for (const label of labels) expect(text).toContain(`Database ${label} (`);
  const pages = Number(/page 1 of (\d+)/.exec(text)?.[1]);
  expect(pages).toBeGreaterThan(1);
  expect(text.match(/^Description$/gm)).toHaveLength(pages);
});

test("the CSV has a row for each line, and no cell that a spreadsheet would execute", async () => {
  await using fixture = await invoicedWorld(["a,b"]);
  const { world, alice } = fixture;
  const labels = ['=HYPERLINK("http://x")', "+1", "-1", "@sum"];
  for (const label of labels)
    await world.operator.post(`/admin/accounts/${alice.accountId}/adjustments`, { amount: "-0.50", label });
  world.time.now = new Date("2026-12-01T00:15:00Z");
  await endMonth(world, "2026-11-01", [alice.accountId]);
  const invoices = (await alice.get<{ data: Invoice[] }>("/v4/account/invoices")).body.data;
  const reply = await world.send({
    method: "GET",
    url: `/v4/account/invoices/${invoices[1]?.id}/csv`,
    headers: { authorization: `Bearer ${alice.token}` },
  });

  expect(reply.headers["content-type"]).toMatch(/^text\/csv/);
  const [head, database, ...credits] = reply.payload.trimEnd().split("\r\n");
  expect(head).toBe("label,type,region,from,to,quantity,unit_price,amount,tax,total");
  expect(database).toBe(
    '"Database a,b (m1-small)",hourly,eu-central,2026-11-01T00:00:00,2026-12-01T00:00:00,720,0.0225,15.00,0.00,15.00',
  );
  expect(credits.map((row) => row.replace(/,misc.*/, ""))).toEqual([
    `"'=HYPERLINK(""http://x"")"`,
    "'+1",
    "'-1",
    "'@sum",
  ]);
  expect(credits[0]).toMatch(/,1,-0.5,-0.50,0.00,-0.50$/);
});
