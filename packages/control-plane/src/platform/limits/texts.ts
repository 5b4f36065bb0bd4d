import { defineTexts, text } from "@moorage/contract/texts";

type Spent = { requests: number; seconds: number };

export const texts = defineTexts("limit", {
  /** Clients know this sentence. */
  tooManyRequests: text(() => "Too many requests"),
  tooManyOfAccount: text(
    ({ requests, seconds }: Spent) =>
      `Too many requests: all tokens of this account together have a limit of ${requests} requests, which is used up. Retry in ${seconds} s.`,
    { requests: 3200, seconds: 1 },
  ),
  tooManyOfNetwork: text(
    ({ requests, seconds }: Spent) =>
      `Too many requests: all addresses of your IPv6 /48 network together have a limit of ${requests} requests, which is used up. Retry in ${seconds} s.`,
    { requests: 12_800, seconds: 1 },
  ),
  tooManyAtOnce: text(
    ({ most }: { most: number }) =>
      `Too many requests at once: an account, or a network without a token, may have ${most} unanswered requests at a time. Wait for answers, then retry the request.`,
    { most: 125 },
  ),
  tooManyWaiting: text(() => "The server is overloaded. Retry the request."),
});
