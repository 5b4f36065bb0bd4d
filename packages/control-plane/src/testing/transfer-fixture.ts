import type { EntityTransfer } from "@moorage/contract";
import type { World } from "./world.ts";

export const TRANSFERS = "/v4/account/service-transfers";
export type Person = Awaited<ReturnType<World["customer"]>>;
type Token = { token: string };

/** A sender with two compute instances, a receiver, and a third account. */
export async function transferFixture(world: World) {
  const [sender, receiver, stranger] = [await world.customer(), await world.customer(), await world.customer()];
  const [web, mail] = [await world.compute(sender.accountId), await world.compute(sender.accountId)];
  const requestTransfer = (person: Person, ...computes: { id: number }[]) =>
    person.post<EntityTransfer>(TRANSFERS, { entities: { computes: computes.map(({ id }) => id) } });
  return {
    sender,
    receiver,
    stranger,
    web,
    mail,
    requestTransfer,
    offer: async (...computes: { id: number }[]) => (await requestTransfer(sender, ...computes)).body,
    /** Its status, or the refusal. */
    view: async (person: Person, { token }: Token) => {
      const { status, body } = await person.get<EntityTransfer>(`${TRANSFERS}/${token}`);
      return status === 200 ? body.status : status;
    },
    accept: (person: Person, { token }: Token) => person.post(`${TRANSFERS}/${token}/accept`),
    cancel: (person: Person, { token }: Token) => person.delete(`${TRANSFERS}/${token}`),
    /** The actions of the newest acceptance's workflow. */
    move: async () => world.activities.moveOwnership((await world.lastOperation()).id),
    compute: ({ id }: { id: number }) =>
      world.db
        .selectFrom("computes")
        .select(["account_id", "label", "deleted_at"])
        .where("id", "=", id)
        .executeTakeFirstOrThrow(),
    /** Such as "accept finished". */
    eventsOf: async ({ accountId }: Person) =>
      (await world.events())
        .filter((event) => event.account_id === accountId && event.action.startsWith("entity_transfer"))
        .map(({ action, status }) => `${action.slice("entity_transfer_".length)} ${status}`),
  };
}
