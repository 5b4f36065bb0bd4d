/** What zlib says of damaged data. */
export const inflateFaults = [
  "invalid block type",
  "invalid stored block lengths",
  "too many length or distance symbols",
  "invalid code lengths set",
  "invalid bit length repeat",
  "invalid code -- missing end-of-block",
  "invalid literal/lengths set",
  "invalid distances set",
  "invalid literal/length code",
  "invalid distance code",
  "invalid distance too far back",
  "invalid data",
] as const;
export type InflateFault = (typeof inflateFaults)[number];

export const inflateFaultOf = (message: string): InflateFault =>
  inflateFaults.find((fault) => fault === message) ?? "invalid data";
