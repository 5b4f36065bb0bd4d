import type { Refusal, RefusalArguments } from "../refusal.ts";

/** Why the data cannot become an image: a code, which the parent makes a sentence of. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly reason: Refusal;
  constructor(reason: Refusal) {
    super(JSON.stringify(reason));
    this.reason = reason;
  }
}

export function refuse<Code extends keyof RefusalArguments>(code: Code, args: RefusalArguments[Code]): never {
  throw new Refused({ code, args } as Refusal);
}
