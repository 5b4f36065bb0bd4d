import type { Client } from "@moorage/client";
import { cancelAccount, deleteMysqlDatabase, type Operation, viewMysqlDatabase } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { Refused } from "../refused.ts";
import type { Terminal } from "../terminal.ts";
import { texts } from "./texts.ts";

type Params = Readonly<Record<string, unknown>>;
/** What will be lost, and the word that confirms it when typed. */
type Loss = { sentence: Text; confirmation: string };

/** Commands that destroy something irreversibly. */
const losses: Readonly<Record<string, (client: Client, params: Params) => Promise<Loss>>> = {
  [deleteMysqlDatabase.id]: async (client, params) => {
    const { label } = await client.call(viewMysqlDatabase, { params: params as never });
    return { sentence: texts.lossOfDatabase({ label }), confirmation: label };
  },
  [cancelAccount.id]: async () => ({ sentence: texts.lossOfAccount(), confirmation: "cancel" }),
};

export const needsConfirmation = ({ id }: Operation): boolean => Object.hasOwn(losses, id);

export async function confirm(client: Client, operation: Operation, params: Params, terminal: Terminal): Promise<void> {
  const loss = await losses[operation.id]?.(client, params);
  if (loss === undefined) return;
  const { sentence, confirmation } = loss;
  const answer = await terminal.prompt(texts.confirmPrompt({ loss: sentence.text, confirmation }).text);
  if (answer === undefined) throw new Refused(texts.confirmationImpossible({ loss: sentence.text }));
  if (answer !== confirmation) throw new Refused(texts.notConfirmed());
}
