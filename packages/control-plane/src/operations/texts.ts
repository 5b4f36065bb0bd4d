import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("request", {
  recoveryNeeded: text(
    () =>
      "The control plane was restored from an older copy. It accepts no changes until the operator has compared it with all hosts; databases keep running. Try again later.",
  ),
  notComparedYet: text(
    () =>
      "The control plane's database was restarted and is being compared with its hosts. Databases keep running. Try again in a minute.",
  ),
  hostsNotCompared: text(
    () =>
      "The control plane's database was restarted, and a host of this database has not answered since. The database keeps running. Try again in a minute.",
  ),
});
