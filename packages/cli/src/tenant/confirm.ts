import type { Client } from "@moorage/client";
import { cancelAccount, deleteMysqlDatabase, type Operation, viewMysqlDatabase } from "@moorage/contract";
import { Refused } from "../admin-client.ts";
import type { Terminal } from "../terminal.ts";

type Params = Readonly<Record<string, unknown>>;
/** What will be lost, and the word that confirms it when typed. */
type Loss = { sentence: string; confirmation: string };

/** Commands that destroy something irreversibly. */
const losses: Readonly<Record<string, (client: Client, params: Params) => Promise<Loss>>> = {
  [deleteMysqlDatabase.id]: async (client, params) => {
    const { label } = await client.call(viewMysqlDatabase, { params: params as never });
    return { sentence: `The database ${label} and its backups will be deleted.`, confirmation: label };
  },
  [cancelAccount.id]: async () => ({
    sentence: "The account will be closed, with everything in it.",
    confirmation: "cancel",
  }),
};

export const needsConfirmation = ({ id }: Operation): boolean => Object.hasOwn(losses, id);

export async function confirm(client: Client, operation: Operation, params: Params, terminal: Terminal): Promise<void> {
  const loss = await losses[operation.id]?.(client, params);
  if (loss === undefined) return;
  const answer = await terminal.prompt(`${loss.sentence} Type ${loss.confirmation} to go on: `);
  if (answer === undefined) throw new Refused(`${loss.sentence} Nobody can be asked here: say --yes to go on.`);
  if (answer !== loss.confirmation) throw new Refused("Nothing was done.");
}
