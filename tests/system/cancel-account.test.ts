import { until } from "@moorage/testkit/until.ts";
import { beforeAll, expect, test } from "vitest";
import { paymentsUrl } from "../../tools/stack/addresses.ts";
import { runStatement, doorOf, clientA } from "../kit/client.ts";
import { allowDeletions, moorage } from "../kit/moorage.ts";
import { operator } from "../kit/operator.ts";
import { newPerson } from "../kit/person.ts";
import { query } from "../kit/records.ts";
import { tenant } from "../kit/tenant.ts";

const DECLINING = "4000000000000341";
const GOOD = "4242424242424242";
const CANCEL = "/v4/account/cancel";

beforeAll(() => allowDeletions(100));

type Charge = { account: string; cents: number };
const chargesOf = async (euuid: string): Promise<Charge[]> =>
  ((await (await fetch(`${paymentsUrl}/fake/charges`)).json()) as Charge[]).filter(({ account }) => account === euuid);

test("a cancelled account is charged, stopped and kept; a declined card leaves the account unchanged", async () => {
  const leaver = await newPerson("leaver");
  const { api } = leaver;
  const { body: account } = await api.call<{ euuid: string }>("GET", "/v4/account");
  const { body: database } = await api.create("keepsake");
  await api.untilStatus(database.id, "active", 180);
  const door = await doorOf(api, database.id);
  const sql = (statement: string): Promise<string> => runStatement(clientA(), door, statement);
  await sql("create database shop; create table shop.notes (note text); insert into shop.notes values ('kept')");
  const addCard = async (card_number: string): Promise<void> => {
    await api.call("PUT", "/v4/account", { zip: "20457" });
    const data = { card_number, cvv: "123", expiry_month: 12, expiry_year: 2099 };
    const body = { type: "credit_card", is_default: true, data };
    expect(await api.call("POST", "/v4/account/payment-methods", body)).toMatchObject({ status: 200 });
  };

  // Enough to be charged: a provider charges no amount of a few cents.
  const [{ id } = { id: 0 }] = await query<{ id: number }>("select id from accounts where euuid = $1", [account.euuid]);
  await moorage("invoice", "adjust", String(id), "--amount", "5", "--label", "Migration");

  await addCard(DECLINING);
  expect(await api.call("POST", CANCEL, {})).toMatchObject({
    status: 409,
    body: { errors: [{ reason: expect.stringContaining("not canceled") }] },
  });
  expect(await sql("select note from shop.notes")).toBe("kept");
  expect(await chargesOf(account.euuid)).toEqual([]);

  await addCard(GOOD);
  expect(await api.call("POST", CANCEL, { comments: "the story is over" })).toMatchObject({ status: 200 });
  expect(await api.call("GET", "/v4/account")).toMatchObject({ status: 401 });
  await until("the database answers no more", 120, async () =>
    sql("select 1").then(
      () => false,
      () => true,
    ),
  );
  const [invoice] = await query<{ total_micros: number }>("select total_micros from invoices where account_id = $1", [
    id,
  ]);
  // Includes the database's hour.
  expect(invoice?.total_micros).toBeGreaterThan(5_000_000);
  expect(await chargesOf(account.euuid)).toMatchObject([{ cents: (invoice?.total_micros ?? 0) / 10_000 }]);
  const shown = await moorage("account", "show", String(id));
  expect(shown).toContain("the story is over");
  expect(shown).toContain("balance:            $0.00");

  // The data are kept: the operator reopens the account, and everything is there.
  await until("the database is suspended", 120, async () => {
    const [row] = await query<{ status: string }>("select status from databases where id = $1", [database.id]);
    return row?.status === "suspended";
  });
  await moorage("account", "reopen", String(id));
  const tokens = `/admin/accounts/${id}/users/${leaver.username}/tokens`;
  const again = tenant((await operator<{ token: string }>(tokens, { label: "again", scopes: ["*"] })).token);
  expect(await api.call("GET", "/v4/account")).toMatchObject({ status: 401 });
  expect((await again.act(database.id, "resume")).status).toBe(200);
  await again.untilStatus(database.id, "active", 120);
  expect(await sql("select note from shop.notes")).toBe("kept");
  expect((await again.delete(database.id)).status).toBe(200);
});
