/** What the data are, or did, that they cannot become an image. The sentence is for whoever uploaded them. */
export class Refused extends Error {
  override readonly name = "Refused";
}

export function refuse(reason: string): never {
  throw new Refused(reason);
}
