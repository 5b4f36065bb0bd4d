import { z } from "zod";

/**
 * What `cards` and the desk of `api` say to each other about a card: everything but its number and its code. `cards`
 * passes the caller's own headers on, so that the desk decides about the caller as `api` does.
 */
export const ADMISSION_KEY_HEADER = "x-moorage-card-admission-key";

/** The body of the two operations that add a card, as the desk is told of it. Without a card: it is not a valid one. */
export const AddCardRequest = z.object({
  is_default: z.boolean(),
  card: z
    .object({
      card_type: z.string(),
      last_four: z.string().regex(/^\d{4}$/),
      expiry_month: z.int(),
      expiry_year: z.int(),
    })
    .nullable(),
});
export type AddCardRequest = z.output<typeof AddCardRequest>;

/** Without an attempt: the request was done before, by its Idempotency-Key, or its body is not valid. */
export const Admission = z.object({
  attempt: z
    .object({
      /** Names it at the provider too. */
      id: z.int(),
      holder: z.object({
        accountUuid: z.string(),
        customer: z.string().nullable(),
        zip: z.string(),
        country: z.string(),
      }),
    })
    .optional(),
});
export type Admission = z.output<typeof Admission>;

export const SETTLE_PATH = "/cards/settle";

/** What the provider said of an attempt. */
export const Settlement = z.object({
  operation: z.enum(["addPaymentMethod", "updateCreditCard"]),
  attempt: z.int(),
  request: AddCardRequest,
  outcome: z.discriminatedUnion("is", [
    z.object({
      is: z.literal("kept"),
      card: z.object({
        customer: z.string(),
        token: z.string(),
        cardType: z.string(),
        lastFour: z.string().regex(/^\d{4}$/),
        expiryMonth: z.int(),
        expiryYear: z.int(),
      }),
    }),
    z.object({ is: z.literal("declined") }),
  ]),
});
export type Settlement = z.output<typeof Settlement>;
