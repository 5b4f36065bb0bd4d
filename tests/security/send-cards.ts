import { randomUUID } from "node:crypto";
import { loopback, ports } from "../../tools/stack/addresses.ts";
import { operator } from "../kit/operator.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import type { CanaryCard, Fate } from "./canary-cards.ts";

const AT_ONCE = 10;
const LIMITS = { databases: 1, nodes: 1, memory_mb: 1024, disk_mb: 10_240 };
export const CARDS_OF_AN_ACCOUNT = 10;

type Request = { url: string; method?: string; type?: string; body: string };
const METHODS = "/v4/account/payment-methods";
const CREDIT_CARD = "/v4/account/credit-card";

/** The expected answer for each fate, which proves that it happened. */
const answers: Record<Fate, readonly number[]> = {
  kept: [200],
  declined: [400],
  "line broken": [503],
  "no answer": [503],
  malformed: [400, 413],
  misdirected: [404, 405],
};

/** With both operations in turn, every second one with an Idempotency-Key. Returns how many had each fate. */
export async function sendCards(cards: readonly CanaryCard[]): Promise<Map<Fate, number>> {
  const tokens = await tokensFor(Math.ceil(cards.length / CARDS_OF_AN_ACCOUNT));
  const counts = new Map<Fate, number>();
  await inBatches(cards, async (each) => {
    const token = tokens[Math.floor(each.n / CARDS_OF_AN_ACCOUNT)] ?? "";
    const { url, method = "POST", type = "application/json", body } = requestOf(each);
    const reply = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": type,
        ...(each.n % 2 === 0 ? { "idempotency-key": randomUUID() } : {}),
      },
      body,
      signal: AbortSignal.timeout(180_000),
    });
    const text = await reply.text();
    if (!answers[each.fate].includes(reply.status))
      throw new Error(`A card that is ${each.fate} was answered ${reply.status}: ${text}`);
    if (text.includes(each.card.card_number)) throw new Error(`The answer to a card repeats it: ${reply.status}`);
    counts.set(each.fate, (counts.get(each.fate) ?? 0) + 1);
  });
  return counts;
}

function requestOf({ n, fate, card }: CanaryCard): Request {
  const front = env("MOORAGE_URL");
  const asMethod = { type: "credit_card", is_default: n % 3 === 0, data: card };
  // Neighbours have different fates, so that both operations see each of them.
  const usual = Math.floor(n / CARDS_OF_AN_ACCOUNT + n) % 2 === 0;
  const good = usual
    ? { url: `${front}${METHODS}`, body: JSON.stringify(asMethod) }
    : { url: `${front}${CREDIT_CARD}`, body: JSON.stringify(card) };
  if (fate === "malformed") return malformed(good, card, Math.floor(n / 5));
  if (fate === "misdirected") return misdirected(good.body, Math.floor(n / CARDS_OF_AN_ACCOUNT));
  return good;
}

/** Mistakes of clients, and requests that only a hostile client sends. Each contains the number. */
function malformed(good: Request, card: CanaryCard["card"], n: number): Request {
  const body = (changed: unknown): Request => ({ url: good.url, body: JSON.stringify(changed) });
  const { card_number: number, cvv } = card;
  const ways: (() => Request)[] = [
    () => body({ ...card, data: { ...card, cvv: `${cvv}1` }, cvv: `${cvv}1`, type: "credit_card", is_default: true }),
    () => body({ ...card, data: { ...card, expiry_year: 2020 }, expiry_year: 2020 }),
    () => ({ ...good, body: good.body.slice(0, -1) }),
    () => ({ ...good, body: `${good.body}${number}` }),
    () => ({ ...good, type: "text/plain" }),
    () => ({ ...good, type: "multipart/form-data; boundary=x" }),
    () => ({
      ...good,
      type: "application/x-www-form-urlencoded",
      body: new URLSearchParams({ number, cvv }).toString(),
    }),
    () => body([card]),
    () => body(`${number} ${cvv}`),
    () => body({ [number]: cvv, [`${number}\0`]: cvv }),
    () => body({ type: number, is_default: number, data: number, card_number: `${number} `, cvv: number }),
    () => body({ card_number: Number(number), data: { card_number: Number(number) }, cvv: Number(cvv) }),
    () => ({ ...good, body: `{"__proto__":${JSON.stringify(card)}}` }),
    () => ({ ...good, body: JSON.stringify({ ...card, padding: number.repeat(2000) }) }),
    () => ({ ...good, body: `${"[".repeat(200)}"${number}"${"]".repeat(200)}` }),
  ];
  return (ways[n % ways.length] as () => Request)();
}

/** Requests to a process that takes no cards, or with an invalid method. */
function misdirected(body: string, n: number): Request {
  const front = env("MOORAGE_URL");
  const api = `http://${loopback(ports.api)}`;
  const ways: Request[] = [
    { url: `${api}${METHODS}`, body },
    { url: `${api}//v4beta/account/credit-card`, body },
    { url: `${front}${METHODS}`, method: "PUT", body },
    { url: `${front}/v4//account/credit-card/`, method: "PATCH", body },
    { url: `${front}/v4/account/creditcard`, body },
    { url: `${front}/v4/Account/credit-card`, body },
    { url: `${front}/v5/account/payment-methods`, body },
    { url: `http://${loopback(ports.cardAdmission)}${CREDIT_CARD}`, body },
  ];
  return ways[n % ways.length] as Request;
}

async function tokensFor(accounts: number): Promise<string[]> {
  const tokens: string[] = [];
  await inBatches(
    Array.from({ length: accounts }, (_, n) => n),
    async (n) => {
      const username = `cards-${randomUUID().slice(0, 13)}`;
      const email = `${username}@cards.test`;
      const { id } = await operator<{ id: number }>("/admin/accounts", { company: "Cards", email, limits: LIMITS });
      const users = `/admin/accounts/${id}/users`;
      await operator(users, { username, email, restricted: false });
      const newToken = { label: "cards", scopes: ["*"] };
      const { token } = await operator<{ token: string }>(`${users}/${username}/tokens`, newToken);
      const address = { country: "DE", zip: "20457", city: "Hamburg" };
      const { status } = await tenant(token).call("PUT", "/v4/account", address);
      if (status !== 200) throw new Error(`The address was refused: ${status}`);
      tokens[n] = token;
    },
  );
  return tokens;
}

async function inBatches<T>(all: readonly T[], work: (each: T) => Promise<void>): Promise<void> {
  const waiting = [...all];
  const worker = async (): Promise<void> => {
    for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) await work(each);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
