/** Why the data cannot become an image. The sentence is for the person who uploaded them. */
export class Refused extends Error {
  override readonly name = "Refused";
}

export function refuse(reason: string): never {
  throw new Refused(reason);
}
