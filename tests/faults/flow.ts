import type { Event } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import { type Tenant, tenant } from "../kit/tenant.ts";
import type { ImageFixture } from "./image-flows.ts";
import type { Offer } from "./transfer-flow.ts";

/** The objects of a trial. `databases` and `image` are deleted at its end. */
export type Fixture = {
  alice: Tenant;
  label: string;
  databases: number[];
  offer?: Offer;
  image?: ImageFixture;
  /** Removes what the trial created elsewhere. */
  afterwards?: () => Promise<unknown>;
};

export const newFixture = (): Fixture => ({ alice: tenant(), label: `fault-${Date.now()}`, databases: [] });

/** A part of the lifecycle of a database or an image; a fault can be injected at each of its steps. */
export type Flow = {
  /** Runs without faults. */
  prepare: (fixture: Fixture) => Promise<void>;
  /** Repeats the request until it is accepted, waits for its end, and checks that the result is complete. */
  run: (fixture: Fixture) => Promise<void>;
  /** Which of the traced steps belong to this flow: background work may pass others at any time. */
  owns: (step: string) => boolean;
};

export const idOf = ({ databases }: Fixture): number => databases[0] as number;

/** Repeats the request until an event shows that it was accepted; then waits until that event has ended. */
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
/** Background work that does not depend on tenants' requests. Each has separate tests. */
export const backgroundSteps = [
  "worker.daily-point",
  "worker.patchInWindow",
  "worker.check-cluster",
  "worker.choose-archiver",
  "worker.delete-copy",
  "worker.delete-logs",
  "worker.delete-lost-transactions",
  "worker.lost-host",
  "worker.tombstone-replaced",
  "worker.sweep-timeline",
  "worker.begin-purge",
  "worker.finish-purge",
  "worker.judge-alert",
  "worker.endStaleTransfer",
  // For a cancelled account.
  "api.cancelAccount",
  "api.stopClosedDatabase",
  ...["stopClosedDatabase", "deleteClosedDatabase", "endClosedData", "endClosedImages"].map((name) => `worker.${name}`),
  // Tested by the month-end drill.
  ...["cut-month", "start-run", "invoiceRun", "invoice-batch", "finish-run"].map((name) => `worker.${name}`),
  ...["ask", "settle", "event", "autopay", "forget", "reconcile"].map((name) => `charge.${name}`),
  // Only after a restore was given up.
  "worker.setPreviousTimeline",
  "fleet.verified",
  ...["engine", "volume", "fetch", "replay", "check", "scrub", "report"].map((name) => `agent.verify.${name}`),
  // Only for the nightly copy, and for logs that have been in the archive for hours.
  "agent.copy.begin",
  "agent.ship.purge",
  "agent.disk.close",
  "agent.disk.open",
  "agent.disk.grow",
];
const isBackground = (step: string): boolean =>
  /^agent\.(copy|ship|verify|discard)\./.test(step) || backgroundSteps.includes(step);
/** Steps of the request, the workflow, the relay and the gateway, and the steps of the host for this flow. */
export const owning =
  (...tables: string[]) =>
  (step: string): boolean =>
    tables.some((table) => step.startsWith(`agent.${table}.`)) || (!isProvision(step) && !isBackground(step));

export const act = (fixture: Fixture, what: string, body?: object) => () =>
  fixture.alice.act(idOf(fixture), what, body);
