import { env } from "../kit/stack-env.ts";
import { as, type Check, calls, refusedWith, unless } from "./api-v4-calls.ts";
import type { ClientThings } from "./client-things.ts";
import { ADDRESS, CARD } from "./money-things.ts";

const {
  acceptServiceTransfer,
  addPaymentMethod,
  cancelAccount,
  cancelServiceTransfer,
  createServiceTransfer,
  deletePaymentMethod,
  getAccountAvailabilities,
  getAccountAvailability,
  getAccountInfo,
  getAccountMaintenance,
  getAccountSettings,
  getInvoice,
  getInvoiceItems,
  getInvoices,
  getNetworkUtilization,
  getNotifications,
  getPaymentMethod,
  getPaymentMethods,
  getPayments,
  getServiceTransfer,
  getServiceTransfers,
  makeDefaultPaymentMethod,
  makePayment,
  saveCreditCard,
  updateAccountInfo,
  updateAccountSettings,
} = calls;

/** The package refuses cards that expire in more than twenty years. */
const SOON = { ...CARD, expiry_year: new Date().getFullYear() + 5 };

/** The account and its billing; at the end the account is cancelled. */
export async function account(things: ClientThings, check: Check): Promise<void> {
  const own = <T>(request: () => Promise<T>): Promise<T> => as(things.account.token, request);
  await own(async () => {
    await contact(check);
    await paymentMethods(check);
    await payments(check);
    await invoices(things.invoice, check);
    await check("getAccountMaintenance", () => getAccountMaintenance());
    await check("getNotifications", () => getNotifications());
  });
  await transfers(things, check);
  await own(async () => {
    await check(
      "cancelAccount",
      () => cancelAccount({ comments: "Only here for a day." }),
      unless(({ survey_link }) => typeof survey_link === "string"),
    );
    await check(
      "getAccountInfo of a closed account is refused",
      refusedWith(401, () => getAccountInfo()),
    );
  });
}

async function contact(check: Check): Promise<void> {
  const seen = await check(
    "getAccountInfo",
    () => getAccountInfo(),
    unless(({ balance }) => balance === 0),
  );
  await check(
    "updateAccountInfo",
    () => updateAccountInfo({ ...ADDRESS, city: "Hamburg" }),
    unless(({ city, euuid }) => city === "Hamburg" && euuid === seen?.euuid),
  );
  await check(
    "getAccountSettings",
    () => getAccountSettings(),
    unless(({ managed }) => managed === false),
  );
  await check(
    "updateAccountSettings",
    () => updateAccountSettings({ network_helper: false }),
    unless(({ network_helper }) => network_helper === false),
  );
  await check("getNetworkUtilization", () => getNetworkUtilization());
  const region = env("MOORAGE_REGION");
  await check(
    "getAccountAvailabilities",
    () => getAccountAvailabilities(),
    unless(({ data }) => data.some((each: { region: string }) => each.region === region)),
  );
  await check(
    "getAccountAvailability",
    () => getAccountAvailability(region),
    unless((found) => found.region === region),
  );
}

async function paymentMethods(check: Check): Promise<void> {
  const add = (is_default: boolean) => addPaymentMethod({ type: "credit_card", is_default, data: SOON });
  await check("addPaymentMethod, the first", () => add(true));
  await check("addPaymentMethod, a second", () => add(false));
  const found = await check(
    "getPaymentMethods has both",
    () => getPaymentMethods(),
    unless(({ data }) => data.length === 2 && data[0]?.is_default === true),
  );
  const [first, second] = found?.data ?? [];
  if (first === undefined || second === undefined) return;
  await check(
    "deletePaymentMethod of the default is 400",
    refusedWith(400, () => deletePaymentMethod(first.id)),
  );
  await check("makeDefaultPaymentMethod", () => makeDefaultPaymentMethod(second.id));
  await check(
    "getPaymentMethod (the path in the singular)",
    () => getPaymentMethod(second.id),
    unless(({ is_default }) => is_default),
  );
  await check("deletePaymentMethod", () => deletePaymentMethod(first.id));
  await check("saveCreditCard (the former operation)", () => saveCreditCard(SOON));
}

async function payments(check: Check): Promise<void> {
  const made = await check("makePayment", () => makePayment({ usd: "12.50" }));
  if (made === undefined) return;
  await check(
    "getPayments",
    () => getPayments(),
    unless(({ data }) => data.length === 1 && data[0]?.usd === 12.5),
  );
}

async function invoices(invoice: number, check: Check): Promise<void> {
  await check(
    "getInvoices in the order of the date",
    () => getInvoices({}, { "+order_by": "date", "+order": "desc" }),
    unless(({ data }) => data[0]?.id === invoice),
  );
  await check(
    "getInvoice",
    () => getInvoice(invoice),
    unless(({ subtotal, tax, total }) => subtotal === 10 && tax === 2 && total === 12),
  );
  await check(
    "getInvoiceItems",
    () => getInvoiceItems(invoice),
    unless(({ data }) => data.length === 1 && data[0]?.quantity === 500),
  );
}

async function transfers(things: ClientThings, check: Check): Promise<void> {
  const own = <T>(request: () => Promise<T>): Promise<T> => as(things.account.token, request);
  const offer = (compute: number) =>
    check("createServiceTransfer", () => own(() => createServiceTransfer({ entities: { linodes: [compute] } })));
  const given = await offer(things.computes[0]);
  const kept = await offer(things.computes[1]);
  if (given === undefined || kept === undefined) return;
  await check(
    "getServiceTransfers",
    () => own(() => getServiceTransfers()),
    unless(({ results }) => results === 2),
  );
  await check(
    "getServiceTransfer by another account that has the token",
    () => as(things.otherToken, () => getServiceTransfer(given.token)),
    unless(({ is_sender }) => !is_sender),
  );
  await check("acceptServiceTransfer", () => as(things.otherToken, () => acceptServiceTransfer(given.token)));
  await check("cancelServiceTransfer", () => own(() => cancelServiceTransfer(kept.token)));
}
