import { step } from "@moorage/crash-points";
import { findOperation } from "#operations/index.ts";
import { type Engine, inOperation } from "./in-operation.ts";
import { type Settlement, settle } from "./settle.ts";
import { changeOf, kinds } from "./table.ts";

const stepOf = (kind: string): string => `end.${kind}`;
/** The end of each kind is a step of its own, at which a fault drill can kill the worker. */
export const endSteps = kinds.map(stepOf);

/** Ends any operation on a database, once, by its row of the table. */
export const createChangeEnd = (engine: Engine) => ({
  async endChange(operationId: number, proposed: Settlement): Promise<void> {
    const { kind } = await findOperation(engine.db, operationId);
    const { judge, end } = changeOf(kind);
    await step(stepOf(kind), () =>
      inOperation(engine, operationId, async (tx, context) => {
        if (!context.isOpen) return { answer: undefined };
        const at = engine.clock();
        const settlement = judge === undefined ? proposed : await judge(tx, context, proposed, at);
        if ((await settle(tx, operationId, settlement, at)) === undefined) return { answer: undefined };
        return { answer: undefined, ...(await end(tx, context, settlement, at)) };
      }),
    );
  },
});
export type ChangeEnd = ReturnType<typeof createChangeEnd>;

/** Ends operations after their deadline if their workflows could not, by kind. */
export const createChangeExpiry = ({ endChange }: ChangeEnd): Record<string, (id: number) => Promise<void>> => {
  const expire = (kind: string) => {
    const { late } = changeOf(kind);
    return (id: number) => endChange(id, { done: false, ...(late === undefined ? {} : { message: late() }) });
  };
  return Object.fromEntries(kinds.map((kind) => [kind, expire(kind)]));
};
