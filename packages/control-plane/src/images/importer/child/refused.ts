import type { Text } from "@moorage/contract/texts";

/** Why the data cannot become an image, for the person who uploaded them. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly reason: Text;
  constructor(reason: Text) {
    super(reason.text);
    this.reason = reason;
  }
}

export function refuse(reason: Text): never {
  throw new Refused(reason);
}
