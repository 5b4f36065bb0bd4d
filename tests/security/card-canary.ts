/**
 * Sends cards to the stack in every way that succeeds or fails, and then searches for them, in every form, in all that
 * it stores: databases and their files, histories, objects, logs, mails, traces, and the memory of the processes that
 * must never see one. To prove that the search works, it first plants a card in each place, and must find it.
 *
 *   node tests/security/card-canary.ts [--cards 1000]      on a stack that is up
 */
import { createHash, randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { until } from "@moorage/testkit/until.ts";
import { pidOf, services, start, stop, waitHealthy } from "../../tools/stack/control.ts";
import { writeServiceDir } from "../../tools/stack/supervisor.ts";
import { type CanaryCard, canaryOfCard, newCards } from "./canary-cards.ts";
import { everyCardStore, startTraceSink } from "./card-stores.ts";
import { cardFormsOf } from "./card-forms.ts";
import { requireSilentProcess } from "./cards-process.ts";
import { memoryOf } from "./process-memory.ts";
import { type Hit, prepareSearch } from "./search.ts";
import { sendCards } from "./send-cards.ts";
import { psql, type Store } from "./stores.ts";

const { values } = parseArgs({ options: { cards: { type: "string", default: "1000" } } });
/** They send traces of every request while the cards are sent. */
const traced = ["api", "worker", "cards"];
const neverSee = ["api", "worker", "auth", "fleet", "postgres", "temporal", "valkey"];

async function withTraces(url: string | undefined): Promise<void> {
  for (const service of (await services()).filter(({ name }) => traced.includes(name)))
    await writeServiceDir(
      url === undefined ? service : { ...service, env: { ...service.env, OTEL_EXPORTER_OTLP_ENDPOINT: url } },
    );
  await stop(traced);
  await start(traced);
  for (const name of traced) await waitHealthy(name);
}

type Search = ReturnType<typeof prepareSearch>;
const searchFor = (some: readonly CanaryCard[]): Search => prepareSearch(some.map(canaryOfCard), cardFormsOf);

async function searchIn(pieces: AsyncIterable<Buffer> | Iterable<Buffer>, newSearch: Search) {
  const search = newSearch();
  for await (const piece of pieces) search.read(piece);
  return { hits: search.hits(), bytes: search.bytes() };
}

/** In every form that is searched for, as far as a text can hold it. */
const waysOf = ({ card: { card_number: number, cvv } }: CanaryCard): Record<string, string> => ({
  "number, plain": number,
  // In hexadecimal, as a dump shows it.
  "number, plain, in a column of bytes": Buffer.from(number).toString("hex"),
  "number, base64 of the text, behind 1": Buffer.from(`a${number}z`).toString("base64"),
  "number, base64 of the text, behind 2": Buffer.from(`ab${number}z`).toString("base64"),
  "number, URL-encoded, every byte": [...Buffer.from(number)].map((byte) => `%${byte.toString(16)}`).join(""),
  "SHA-256 of number, plain": sha256(number).toString("hex"),
  "SHA-256 of number and code, base64 of its bytes, behind 0": sha256(number + cvv).toString("base64"),
  code: `card[cvc]=${cvv}`,
});
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

async function isSeen(store: Store): Promise<boolean> {
  const planted = newCards(1)[0] as CanaryCard;
  // A number that no other card has or begins with.
  planted.card.cvv = `x${randomInt(1e9)}`;
  const ways = waysOf(planted);
  const takeAway = await store.plant(Object.values(ways).join(" , "));
  try {
    const { hits } = await searchIn(store.stream(), searchFor([planted]));
    return Object.keys(ways).every((way) => hits.some(({ how }) => how === way));
  } finally {
    await takeAway();
  }
}

let faults = 0;
function report(name: string, sees: boolean, bytes: number, hits: readonly Hit[]): void {
  faults += hits.length + (sees ? 0 : 1);
  console.log(
    `${sees ? "sees   " : "IS BLIND"} ${name.padEnd(34)} ${String(bytes).padStart(12)} bytes  ${hits.length} hits`,
  );
  for (const { kind, how, near } of hits.slice(0, 10)) console.log(`         ${kind}, ${how}, after: ${near}`);
}

const pidNamed = (name: string): number => {
  const pid = pidOf(name);
  if (pid === undefined) throw new Error(`${name} is not running.`);
  return pid;
};

using traces = await startTraceSink();
const cards = newCards(Number(values.cards));
const every = searchFor(cards);
// Cards that were sent to the wrong place arrived there, and were not read.
const wellDirected = searchFor(cards.filter(({ fate }) => fate !== "misdirected"));
await withTraces(traces.url);
try {
  const startedAt = Date.now();
  const fates = await sendCards(cards);
  console.log(
    `${cards.length} cards in ${((Date.now() - startedAt) / 1000).toFixed(0)} s: ${[...fates].map(([fate, count]) => `${count} ${fate}`).join(", ")}`,
  );
  // A worker that was given nothing to do has none.
  await until("traces of the requests have come", 30, async () => ["api", "cards"].every(traces.hasSpansOf));
  requireSilentProcess(pidNamed("cards"));
  const keys = await psql(
    "moorage",
    "select count(*) from idempotency_keys where operation ~ 'PaymentMethod|CreditCard'",
  );
  if (Number(keys) === 0) throw new Error("No Idempotency-Key was kept: that table shows nothing.");

  // Cards are found where they may be, which shows that the search of the other processes' memory works.
  const { hits: inCards } = await searchIn(memoryOf(pidNamed("cards")), wellDirected);
  for (const name of neverSee) {
    const { hits, bytes } = await searchIn(memoryOf(pidNamed(name)), wellDirected);
    report(`memory of ${name}`, inCards.length > 0, bytes, hits);
  }
  for (const store of await everyCardStore(traces.store)) {
    const sees = await isSeen(store);
    const { hits, bytes } = await searchIn(store.stream(), every);
    report(store.name, sees, bytes, hits);
  }
  console.log(
    `${cards.length} cards: ${faults} faults; the memory of cards itself had ${inCards.length} forms of them`,
  );
} finally {
  await withTraces(undefined);
}
process.exitCode = faults === 0 ? 0 : 1;
