import type { Event } from "@moorage/contract";
import { type Tenant, tenant } from "../kit/tenant.ts";
import { until } from "../kit/until.ts";
import type { ImageFixture } from "./image-flows.ts";
import type { Offer } from "./transfer-flow.ts";

/** What a trial works on. `databases` and `image` are deleted at its end. */
export type Fixture = {
  alice: Tenant;
  label: string;
  databases: number[];
  offer?: Offer;
  image?: ImageFixture;
  /** Takes away what the trial laid somewhere itself. */
  afterwards?: () => Promise<unknown>;
};

export const newFixture = (): Fixture => ({ alice: tenant(), label: `fault-${Date.now()}`, databases: [] });

/** A piece of the life of a database or an image that can be struck at each of its steps. */
export type Flow = {
  /** Made without faults. */
  prepare: (fixture: Fixture) => Promise<void>;
  /** The request, asked until it is accepted, its end, and whether what is left is whole. */
  run: (fixture: Fixture) => Promise<void>;
  /** Of the steps that were seen: others may be passed at any time by work that is not this flow's. */
  owns: (step: string) => boolean;
};

export const idOf = ({ databases }: Fixture): number => databases[0] as number;

/** Asked again as long as no event tells that it was accepted; then until that event has ended. */
export async function surely(
  { alice }: Fixture,
  id: number,
  action: Event["action"],
  request: () => Promise<{ status: number }>,
): Promise<Event> {
  const news = async (): Promise<Event[]> =>
    (await alice.events(id)).filter((event) => event.action === action && !before.has(event.id));
  const before = new Set((await alice.events(id)).map((event) => event.id));
  await until(
    `${action} of ${id} is accepted`,
    60,
    async () => (await news()).length > 0 || ((await request()) && false),
  );
  const ended = await until(`${action} of ${id} has ended`, 180, async () =>
    (await news()).find(({ status }) => status !== "started"),
  );
  if ((await news()).length !== 1) throw new Error(`one ${action} has ${(await news()).length} events`);
  return ended;
}

export async function finished(
  fixture: Fixture,
  id: number,
  action: Event["action"],
  request: () => Promise<{ status: number }>,
) {
  const { status, message } = await surely(fixture, id, action, request);
  if (status !== "finished") throw new Error(`${action} is ${status}: ${message}`);
}

const isProvision = (step: string): boolean => step.startsWith("agent.provision.");
/** What goes on by itself, whatever a tenant does. Each has tests of its own. */
export const backgroundSteps = [
  "worker.daily-point",
  "worker.patchInWindow",
  "worker.check-cluster",
  "worker.choose-archiver",
  "worker.delete-copy",
  "worker.delete-logs",
  "worker.delete-lost-transactions",
  "worker.sweep-timeline",
  "worker.begin-purge",
  "worker.finish-purge",
  "worker.judge-alert",
  "worker.endStaleTransfer",
  // Of a cancelled account.
  ...["api.cancelAccount", "api.stopClosedDatabase"],
  ...["stopClosedDatabase", "deleteClosedDatabase", "endClosedData", "endClosedImages"].map((name) => `worker.${name}`),
  // By the drill of a month's end.
  ...["cut-month", "start-run", "invoiceRun", "invoice-batch", "finish-run"].map((name) => `worker.${name}`),
  ...["ask", "settle", "event", "autopay", "forget"].map((name) => `charge.${name}`),
  // Only when a restore was given up.
  "worker.setPreviousTimeline",
  "fleet.verified",
  ...["engine", "volume", "fetch", "replay", "check", "scrub", "report"].map((name) => `agent.verify.${name}`),
  // Of the nightly copy alone, and of logs that have been in the archive for hours.
  "agent.copy.begin",
  "agent.ship.purge",
  "agent.disk.close",
  "agent.disk.open",
  "agent.disk.grow",
];
const isBackground = (step: string): boolean =>
  /^agent\.(copy|ship|verify|discard)\./.test(step) || backgroundSteps.includes(step);
/** Steps of the request, the workflow, the relay and the gateway; and those that the host takes for this flow. */
export const owning =
  (...tables: string[]) =>
  (step: string): boolean =>
    tables.some((table) => step.startsWith(`agent.${table}.`)) || (!isProvision(step) && !isBackground(step));

export const act = (fixture: Fixture, what: string, body?: object) => () =>
  fixture.alice.act(idOf(fixture), what, body);
