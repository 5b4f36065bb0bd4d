import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("request", {
  controlPlaneRestored: text(
    () =>
      "The control plane was restored and is being compared with its hosts. It accepts no changes until the comparison is complete; databases keep running. Try again in a minute.",
  ),
});
