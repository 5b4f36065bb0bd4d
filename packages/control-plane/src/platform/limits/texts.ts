import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("limit", {
  /** Clients know this sentence. */
  tooManyRequests: text(() => "Too many requests"),
  tooManyWaiting: text(() => "The server is overloaded. Retry the request."),
});
